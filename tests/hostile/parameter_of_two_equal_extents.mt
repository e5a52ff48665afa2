const0: u32[3, 2, 3, 4] = hex "6dc88f6f05000000eabce3a500000000feffffff010000002ff422c409000000f9fffffff7fffffffefffffff5ffffff01000000060000000200000007f755a205000000fdfffffff5ffffff0300000018f57090f8511fa908000000fdffffffffdc8dd403000000f4fffffff9ffffff39c5f9edf7ffffff07000000e658bb13f9ffffff08000000f5ffffff0ba89bd0bfff4542f8ffffff01000000457412730c0000000a000000090000000a000000f8ffffff00000000fdfffffffeffffff0800000006000000fdffffff030000000600000009000000feffffff0c000000ffffffff090000000b000000f8ffffff06000000080000003491f882f7ffffff070000005de7e4f5feffffffb5e7df51c2c4c31e070000004e605cb913c5195f"
const1: u32[3, 1, 1, 4] = [4294967289, 4294967285, 8, 4294967290, 3, 11, 1558564888, 4294967290, 2857350951, 0, 12, 5]
const2: f32[3, 2, 1] = [10.0, 9000.0, -2.0, 0.375, 0.375, 0.0]
const3: f32[3, 1, 1] = [1.0, -1.25, 11.0]
const4: i32[9, 2, 2, 1] = hex "fcffffffdae3c03d79b9fda3385fb25df8fffffffeffffff0a0000006ae53b692c4408e90300000001000000feffffff090000000700000040848d6605000000f7fffffffaffffff68424f1bfdfffffff4ffffff07000000fafffffff4ffffff080000000c0000000a0000005a233c1dfaffffff08000000080000000200000003000000fdffffff0600000066509c08"
const5: i16[1, 5] = [26345, -5, 6512, 29984, -3]
state0 "state 0": i16[1, 5]
func @main(v0: i32[3], v1: i16[4, v8, v9], v2: bf16[2, v10, 5, 2], v3: i64[1], v4: i32[], v5: i16[1, 5], v6: i16[1, 5], v7: effect) {
  v8: index 0..=4 = extent_of v1 { axis = 1 }
  v9: index 3..=5 = extent_of v1 { axis = 2 }
  v10: index 3..=3 = extent_of v2 { axis = 1 }
  v11: index -4..=-1 = index_load v3 { interval = -4..=-1 }
  v12: u32[3, 2, 3, 4] = constant { data = const0 }
  v13: u32[3, 1, 1, 4] = constant { data = const1 }
  v14: i32[3, 3, 7, 3] = conv v12, v13 { strides = [2, 1], dilation = [1, 2], padding_low = [2, 2], padding_high = [2, 2], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 3, filter_zero_point = 2, accumulator = i32 }
  v15: f32[3, 2, 1] = constant { data = const2 }
  v16: f32[3, 1, 1] = constant { data = const3 }
  v17: f32[3, 2, 3] = conv v15, v16 { strides = [2], dilation = [1], padding_low = [0], padding_high = [1], positions = [], shift = [], input_dilation = [1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v18: i32[3, 3, 7, 3] = scan v14 { reduction = sum, axis = 3, exclusive = false, reverse = true }
  v19: i32[3] = scan v0 { reduction = max, axis = 0, exclusive = true, reverse = true }
  v20: index 1..=4 = index_binary v11, v11 { operation = ceildiv }
  v21: i32[9, 2, 2, 1] = constant { data = const4 }
  v22: i32[3, 3, 8, 9] = conv v18, v21 { strides = [2, 1], dilation = [2, 2], padding_low = [2, 1], padding_high = [2, 2], positions = [], shift = [], input_dilation = [1, 1], groups = 3, input_zero_point = -1, filter_zero_point = -4, accumulator = i32 }
  v23: i32[5, 5, 8, 11] = mirror_pad v22 { low = [2, 2, 0, 0], high = [0, 0, 0, 2], edge = true, padded = [] }
  v24: i16[1, 5] = constant { data = const5 }
  v25: effect = store_state v7, v24 { state = state0 }
  v26: index 0..=4 = index_load v4 { interval = 0..=4 }
  v27: i8[v26] = iota { shape = [v26], axis = 0, element = i8 }
  v28: effect = store_state v25, v5 { state = state0 }
  v29: effect = store_state v28, v6 { state = state0 }
  return v27, v23, v19, v1, v0, v29
}
method "main" = @main {
  input "in0"
  input "in1"
  input "in2"
  input "in3"
  input "in4"
  input "in5"
  input "in6"
  output "out0"
  output "out1"
  output "out2"
  output "out3"
  output "out4"
}
