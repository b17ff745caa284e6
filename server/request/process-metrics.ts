// The standard metrics of a process. A scrape reads them, and nothing runs between scrapes.
//
// prom-client's own collection samples the event loop a hundred times a second, and observes every garbage
// collection. That is 7 % of the cost of a small hit (docs/MEASUREMENTS.md#0020).
import { readdirSync } from 'node:fs';
import { Counter, Gauge, type Registry } from 'prom-client';

const MICROSECONDS = 1e6;

export function processMetrics(registry: Registry): void {
  const total = (name: string, help: string, read: () => number) => {
    const collect = (counter: Counter) => {
      counter.reset();
      counter.inc(read());
    };
    const counter: Counter = new Counter({
      name,
      help,
      registers: [registry],
      collect: () => collect(counter),
    });
  };
  const gauge = (name: string, help: string, read: () => number) => {
    const metric: Gauge = new Gauge({ name, help, registers: [registry], collect: () => metric.set(read()) });
  };
  total(
    'process_cpu_user_seconds_total',
    'CPU time in user space.',
    () => process.cpuUsage().user / MICROSECONDS,
  );
  total(
    'process_cpu_system_seconds_total',
    'CPU time in the kernel.',
    () => process.cpuUsage().system / MICROSECONDS,
  );
  gauge(
    'process_start_time_seconds',
    'When the process started.',
    () => Date.now() / 1000 - process.uptime(),
  );
  gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  gauge('process_open_fds', 'Open files and sockets.', () => readdirSync('/proc/self/fd').length);
  gauge('nodejs_heap_size_used_bytes', 'Heap in use.', () => process.memoryUsage().heapUsed);
  gauge('nodejs_external_memory_bytes', 'Memory outside the heap.', () => process.memoryUsage().external);
  gauge(
    'nodejs_eventloop_utilization',
    'Share of the time since the start that the event loop was busy.',
    () => performance.eventLoopUtilization().utilization,
  );
}
