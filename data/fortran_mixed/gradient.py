"""Calls the adjoint in the shared library given as argument: the gradient that main.c prints, from Python through ctypes."""
import ctypes
import math
import struct
import sys

N, STEPS = 8, 20
library = ctypes.CDLL(sys.argv[1])
Vector = ctypes.c_double * N
n, steps = ctypes.c_int(N), ctypes.c_int(STEPS)
k, kb, xb = Vector(*(2 + 0.1 * i for i in range(N))), Vector(), Vector()
x = Vector(*(math.sin(0.7 * (i + 1)) for i in range(N)))
energy, energyb = ctypes.c_double(), ctypes.c_double(1)
library.chain_b_(ctypes.byref(n), ctypes.byref(steps), k, kb, x, xb, ctypes.byref(energy), ctypes.byref(energyb))
for i, value in enumerate([*kb, *xb], 1):
    print(f"gradient {i:2d} {struct.unpack('<Q', struct.pack('<d', value))[0]:016X} {value:.10f}")
