func @main(v0: f32[2, 3]) {
  v1: f32[2, 3] = transpose v0 { permutation = [1, 0] }
  return v1
}
;! ---
verify error: @main: inst0: v1 is Tensor(TensorType { element: F32, shape: [Static(2), Static(3)], layout: Layout(None) }), the rule gives Tensor(TensorType { element: F32, shape: [Static(3), Static(2)], layout: Layout(None) })
