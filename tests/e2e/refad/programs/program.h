/* What every test program offers: y from x. The driver is driver.c. */
#ifndef PROGRAM_H
#define PROGRAM_H

void program(int n, const double x[n], double y[n]);

#endif
