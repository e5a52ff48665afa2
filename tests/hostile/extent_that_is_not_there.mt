const0: bf16[5, 4, 4, 4] = hex "a03f00bf807f0041e040603f20c1903fdb4580bf40414041903fc03f20418040c07f20bf30c1603fe040a0c000400080b0bf80bf80bf807fe0c0a0c000c03041803fc0bfe0c080bf008040c00000a0bfb0bf00c1c040c03e803fc0c0403f80c0c07f0080c07f4040404090bf80bfa0bf60bf10c180c0c07f804040c1003e30c1304140bf008030410080807f104180c0c0beb03f00c00041803f80c0803fa03fc0c000c0603f803f404140c180bf403f00c040bfc040603fdb45804010c110410000403fc04020c10041803fc0be80bf404090bfc07fc0c0203fc03f0041a040803fc07f20c1c07f40c0203f404010c180bf104110410041b0bf30c1104190bf803e00803041000040401041c07f10c160bf603f00be0000c03fb03f807fc07f00c040bf40c00080a040003e00c1404030c12041803ec040803e00c000bf803e0000b03fb0bf80bf008040414040803e403fc0c0c0be803f003ee040b03f403f00c1304100bf60bf40c040bf00c1903f803e008040bf1041c07f804040c000bf10c1803e003f803f30c1403f30c1a0c060bf00400041e0c0304100c1803e30c1000000bec07fc0bf4040c07f0041603fe0c04040c07fa04010c12041603f0000807fc0c0804000bf0d46c07f40bf10c1603fc0bf807f000000bec03f903f20410080a040a0bf4040804030411041603f0040803e008010c1a0bfe0c080c0c0bfb0bf80bfa040c0bfc0c040c180c0003f803fa03fe0c0c03e80bf003e0000803fc0be10c1000040bf304100008040c0bec0c0c0bf804040c03041c03e80c020bfc0bf003f807f603f80bf40400040c04080c0c03f603f3041b0bf4041008080bfe04040400040a0c080be00c000c0c07fa0c0c040c07f00c00000c0bf30c140c0"
const1: i8[176] = hex "e1552a0409580b0b0104fddb01f7fc09660560faf20cfe48fb090601f6f6f5fa004508f8914074f80a03f9a903f6faf50303fdfb53fffbfe050b1b0346795c06fc0001f8000608fc9a042b010efbfb02020400fefecac6fa08f60a05270977031906f50b09ca09032c0b0605090504060bfcf8fefa0bfd3009fddf5404f5fcf60702fffef6e3060a01f009f5fadea3f80603ff0afa5cfb04fff3f72df60c090104008209b301f60af9004303bcfdfa41"
const2: i32[3, 3, 1] = [-1826282730, -5, -3, 2, 1280806062, 537999706, 1, 2, 2]
const3: i32[3, 2, 1] = [0, 0, 0, -12, 0, 0]
state0 "state 0": i16[]
func @main(v0: i32[1, v5, 2], v1: i16[], v2: i32[], v3: i32[], v4: effect) {
  v5: index 1..=4 = extent_of v0 { axis = 1 }
  v6: effect = store_state v4, v1 { state = state0 }
  v7: index 1..=4 = extent_of v0 { axis = 1 }
  v8: i16[3] = iota { shape = [3], axis = 0, element = i16 }
  v9: i16[1] = slice v8 { start = [0], size = [1], stride = [-1] }
  v10: bf16[5, 4, 4, 4] = constant { data = const0 }
  v11: i32[1], v12: bool[1] = map v9 {
    expression = (i16) {
      n0: i16 = input 0
      n1: bool = lt n0, n0
      n2: i16 = select n1, n0, n0
      n3: i16 = sub n2, n2
      n4: i32 = constant 27
      n5: bool = ge n3, n2
      n6: i8 = lut const1, n0
      n7: i16 = abs n3
      n8: i32 = convert.saturating n6
      n9: i16 = constant -8
      n10: i16 = pow n2, n9
      n11: i16 = constant -6
      n12: i16 = constant -7861
      n13: i32 = constant 0
      n14: bool = constant true
      n15: i32 = constant 2
      n16: i32 = shr n8, n15
      return n16, n5
    }
  }
  v13: bool[1] = broadcast v12 { shape = [1] }
  v14: index 0..=1 = index_load v2 { interval = 0..=1 }
  v15: i16[v14] = slice v9 { start = [0], size = [v14], stride = [1] }
  v16: index 0..=1 = index_load v3 { interval = 0..=1 }
  v17: bool[v16] = slice v13 { start = [0], size = [v32], stride = [1] }
  v18: u32[1, v5, 2] = bitcast v0 { element = u32 }
  v19: i32[3, 3, 1] = constant { data = const2 }
  v20: i32[3, 2, 1] = constant { data = const3 }
  v21: i32[3, 7, 1] = pad v19 { low = [0, 2, 0], high = [0, 2, 0], value = i32 3, padded = [] }
  v22: i32[3, 16, 3] = conv v21, v20 { strides = [1], dilation = [1], padding_low = [2], padding_high = [2], positions = [], shift = [], input_dilation = [2], groups = 1, input_zero_point = 3, filter_zero_point = 3, accumulator = i32 }
  v23: index 3..=3 = index { value = 3 }
  return v22, v18, v11, v6
}
method "main" = @main {
  input "in0"
  input "in1"
  input "in2"
  input "in3"
  output "out0"
  output "out1"
  output "out2"
}
