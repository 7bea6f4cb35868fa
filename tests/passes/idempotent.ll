; Running twice changes nothing; a module without adjoint code is left alone; `dialect` is a parameter of the pass.
; RUN: %adprof < %s > %t.once && %adprof < %t.once > %t.twice && diff %t.once %t.twice
; RUN: echo 'define void @plain() { ret void }' | %adprof | %filecheck %s --check-prefix=PLAIN
; RUN: echo '{"extends": "none", "adjoint": ["ad_*"]}' > %t.json && %adprof-dialect '-passes=adprof<dialect=%t.json>,verify' < %s | %filecheck %s --check-prefix=OTHER
; RUN: echo '{"adjoint": "ad_*"}' > %t.json && (! %adprof-dialect '-passes=adprof<dialect=%t.json>' < %s > %t.out 2>&1) && %filecheck %s --check-prefix=BROKEN --input-file=%t.out
; RUN: (! env ADPROF_DIALECT=%t.missing %adprof-dialect -passes=adprof < %s > %t.out 2>&1) && %filecheck %s --check-prefix=MISSING --input-file=%t.out
target triple = "x86_64-pc-linux-gnu"
declare void @f(ptr)
define void @f_b(ptr %x, ptr %xb) {
  ret void
}
define void @main_b(ptr %x, ptr %xb) {
  call void @f(ptr %x)
  call void @f_b(ptr %x, ptr %xb)
  ret void
}
; PLAIN-NOT: __adprof
; PLAIN: define void @plain()
; PLAIN-NOT: __adprof
; OTHER-NOT: __adprof_enter
; BROKEN: error: adprof: dialect file '{{.*}}': member "adjoint": found a string, accepted is an array of names
; MISSING: error: adprof: dialect file '{{.*}}.missing': No such file or directory; give the path of a JSON file
