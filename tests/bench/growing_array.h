/// What the AD stack is measured against: one plain array that doubles by realloc. No threads, no controls as bits, no
/// sizes kept, no repeat levels, no check for an empty pop. In a file of its own, so that it costs a call like the AD
/// stack.
#pragma once
#include <cstddef>

void growing_array_push_real8(double x);
void growing_array_pop_real8(double *x);
void growing_array_push_control(int c);
void growing_array_pop_control(int *c);
void growing_array_push(const void *x, std::size_t bytes);
void growing_array_pop(void *x, std::size_t bytes);
void growing_array_release();
