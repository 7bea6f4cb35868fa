/* What session.c needs of the hooks at the end of the program. */
#ifndef ADPROF_RUNTIME_HOOKS_H
#define ADPROF_RUNTIME_HOOKS_H

/** Brings the counters of all threads into the header. */
void hooks_publish_all(void);

#endif
