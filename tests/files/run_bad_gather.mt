;! input f32[3] = [1.0, 2.0, 3.0]
;! input i32[2] = [0, 3]
;! run
src0 = "main" 4 "GATHER" "y"
func @main(v0: f32[3], v1: i32[2]) {
  v2 = gather v0, v1 { axis = 0, batch = 0 } @ src0
  return v2
}
method "main" = @main {
  input "x"
  input "i"
  output "y"
}
;! ---
; error: gather: index 3 is outside 0..3 (in main, operator 4 GATHER, tensor "y")
