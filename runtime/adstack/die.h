/* How a wrong use of the AD stack ends the program: one line on stderr that names the call, then exit(1), so that
 * whatever the program registered with atexit still runs. */
#ifndef ADPROF_RUNTIME_ADSTACK_DIE_H
#define ADPROF_RUNTIME_ADSTACK_DIE_H

__attribute__((noreturn, cold, format(printf, 2, 3), visibility("hidden"))) void adstack_die(const char *call,
                                                                                             const char *format, ...);

#endif
