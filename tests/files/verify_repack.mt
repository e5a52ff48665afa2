; Integers keep their sign.
func @main(v0: u8[3]) {
  v1 = repack v0 { element = i4 }
  return v1
}
method "main" = @main {
  input "a"
  output "0"
}
;! ---
parse error: 3:8: repack: element is i4, it must be u4
