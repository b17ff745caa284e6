#define WHOM "world"

const char *greeting(void);
