console.log('world');
