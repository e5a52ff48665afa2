//! Models of one int8 layer, to count what a multiply-accumulate takes.

use flatbuffers::{FlatBufferBuilder, WIPOffset};
use modelc::schema::tflite::{
    ActivationFunctionType, Buffer, BufferArgs, BuiltinOperator, BuiltinOptions, Conv2DOptions, Conv2DOptionsArgs, DepthwiseConv2DOptions,
    DepthwiseConv2DOptionsArgs, FullyConnectedOptions, FullyConnectedOptionsArgs, Model, ModelArgs, Operator, OperatorArgs, OperatorCode,
    OperatorCodeArgs, Padding, QuantizationParameters, QuantizationParametersArgs, SubGraph, SubGraphArgs, Tensor, TensorArgs, TensorType,
    finish_model_buffer,
};

/// Kind of a layer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A convolution: height and width of the window, and the stride.
    Conv([i32; 2], i32),
    /// A depthwise convolution of 3×3.
    Depthwise,
    /// A dense layer of one row.
    Dense,
}

/// A layer, and what CMSIS-NN of July 2026 executes for it.
pub struct Layer {
    /// Name in tables.
    pub name: &'static str,
    kind: Kind,
    /// Height, width and channels of the input.
    input: [i32; 3],
    outputs: i32,
    /// Instructions of CMSIS-NN for 1000 multiply-accumulates: on M4 with DSP, on M55 with MVE, and on RV32IMC.
    pub cmsis_nn: [u64; 3],
}

const fn layer(name: &'static str, kind: Kind, input: [i32; 3], outputs: i32, cmsis_nn: [u64; 3]) -> Layer {
    Layer { name, kind, input, outputs, cmsis_nn }
}

/// Layers of MLPerf Tiny's models.
pub const LAYERS: [Layer; 13] = [
    layer("kws 10×4, 1→64, stride 2", Kind::Conv([10, 4], 2), [49, 10, 1], 64, [3463, 901, 5659]),
    layer("kws depthwise 3×3, 64 channels", Kind::Depthwise, [25, 5, 64], 64, [8327, 2317, 15589]),
    layer("kws 1×1, 64→64", Kind::Conv([1, 1], 1), [25, 5, 64], 64, [2087, 396, 4807]),
    layer("resnet8 3×3, 3→16", Kind::Conv([3, 3], 1), [32, 32, 3], 16, [4824, 1355, 6974]),
    layer("resnet8 3×3, 16→16", Kind::Conv([3, 3], 1), [32, 32, 16], 16, [2325, 387, 5366]),
    layer("resnet8 3×3, 32→32", Kind::Conv([3, 3], 1), [16, 16, 32], 32, [1925, 253, 4774]),
    layer("vww depthwise 3×3, 8 channels", Kind::Depthwise, [48, 48, 8], 8, [9953, 5207, 17834]),
    layer("vww depthwise 3×3, 128 channels", Kind::Depthwise, [6, 6, 128], 128, [8077, 2317, 14792]),
    layer("vww 1×1, 8→16", Kind::Conv([1, 1], 1), [48, 48, 8], 16, [6628, 2176, 8387]),
    layer("vww 1×1, 128→128", Kind::Conv([1, 1], 1), [6, 6, 128], 128, [1829, 282, 4610]),
    layer("vww 1×1, 256→256", Kind::Conv([1, 1], 1), [3, 3, 256], 256, [1973, 248, 4919]),
    layer("dense 640→128", Kind::Dense, [1, 1, 640], 128, [1953, 490, 5426]),
    layer("dense 64→12", Kind::Dense, [1, 1, 64], 12, [2826, 875, 6053]),
];

impl Layer {
    /// Tests whether the results are at least zero, as in the layer's model. Only the last layer of kws has negative results.
    fn has_relu(&self) -> bool {
        self.outputs != 12
    }

    /// Returns the shape of the output image.
    fn output(&self) -> [i32; 3] {
        let stride = if let Kind::Conv(_, stride) = self.kind { stride } else { 1 };
        let [height, width, _] = self.input;
        [(height + stride - 1) / stride, (width + stride - 1) / stride, self.outputs]
    }

    /// Returns the shape of the weights.
    fn weights(&self) -> Vec<i32> {
        let channels = self.input[2];
        match self.kind {
            Kind::Conv([rows, columns], _) => vec![self.outputs, rows, columns, channels],
            Kind::Depthwise => vec![1, 3, 3, channels],
            Kind::Dense => vec![self.outputs, channels],
        }
    }

    /// Returns the number of multiply-accumulates.
    pub fn multiply_accumulates(&self) -> u64 {
        let [height, width, _] = self.output();
        let weights: i32 = self.weights().iter().product();
        (height * width * weights) as u64
    }

    /// Returns a model of the layer.
    pub fn model(&self) -> Vec<u8> {
        let mut b = FlatBufferBuilder::new();
        let weights = self.weights();
        let count: i32 = weights.iter().product();
        let numbers: Vec<u8> = (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let bias: Vec<u8> = (0..self.outputs).flat_map(|i| (i * 37 - 500).to_le_bytes()).collect();
        let mut buffers = vec![Buffer::create(&mut b, &BufferArgs::default())];
        for data in [numbers, bias] {
            let data = b.create_vector(&data);
            buffers.push(Buffer::create(&mut b, &BufferArgs { data: Some(data), ..Default::default() }));
        }
        let scales = |scale: f32| -> Vec<f32> { (0..self.outputs).map(|i| scale * (1.0 + i as f32 / 100.0)).collect() };
        let is_dense = self.kind == Kind::Dense;
        let image = |[height, width, channels]: [i32; 3]| if is_dense { vec![1, channels] } else { vec![1, height, width, channels] };
        let axis = if self.kind == Kind::Depthwise { 3 } else { 0 };
        let (of_weights, of_bias) = if is_dense { (vec![0.01], vec![0.0005]) } else { (scales(0.01), scales(0.0005)) };
        let zero_point = if self.has_relu() { -128 } else { 4 };
        let tensors = [
            tensor(&mut b, TensorType::INT8, &image(self.input), 0, (&[0.05], -128, 0)),
            tensor(&mut b, TensorType::INT8, &weights, 1, (&of_weights, 0, axis)),
            tensor(&mut b, TensorType::INT32, &[self.outputs], 2, (&of_bias, 0, 0)),
            tensor(&mut b, TensorType::INT8, &image(self.output()), 0, (&[0.9], zero_point, 0)),
        ];
        let (code, options_type, options) = self.operator(&mut b);
        let arguments = OperatorCodeArgs { builtin_code: code, deprecated_builtin_code: code.0 as i8, version: 1, ..Default::default() };
        let codes = [OperatorCode::create(&mut b, &arguments)];
        let (read, written) = (Some(b.create_vector(&[0, 1, 2])), Some(b.create_vector(&[3])));
        let arguments = OperatorArgs {
            inputs: read,
            outputs: written,
            builtin_options_type: options_type,
            builtin_options: Some(options),
            ..Default::default()
        };
        let operators = [Operator::create(&mut b, &arguments)];
        let (tensors, operators) = (Some(b.create_vector(&tensors)), Some(b.create_vector(&operators)));
        let (inputs, outputs) = (Some(b.create_vector(&[0])), Some(b.create_vector(&[3])));
        let graph = SubGraph::create(&mut b, &SubGraphArgs { tensors, inputs, outputs, operators, ..Default::default() });
        let (operator_codes, subgraphs) = (Some(b.create_vector(&codes)), Some(b.create_vector(&[graph])));
        let buffers = Some(b.create_vector(&buffers));
        let root = Model::create(&mut b, &ModelArgs { version: 3, operator_codes, subgraphs, buffers, ..Default::default() });
        finish_model_buffer(&mut b, root);
        b.finished_data().to_vec()
    }

    /// Returns the operator's code, and its options with their type.
    fn operator(&self, b: &mut FlatBufferBuilder<'_>) -> (BuiltinOperator, BuiltinOptions, WIPOffset<flatbuffers::UnionWIPOffset>) {
        let fused_activation_function = if self.has_relu() { ActivationFunctionType::RELU } else { ActivationFunctionType::NONE };
        match self.kind {
            Kind::Conv(_, stride) => {
                let arguments = Conv2DOptionsArgs {
                    padding: Padding::SAME,
                    stride_w: stride,
                    stride_h: stride,
                    fused_activation_function,
                    ..Default::default()
                };
                let options = Conv2DOptions::create(b, &arguments).as_union_value();
                (BuiltinOperator::CONV_2D, BuiltinOptions::Conv2DOptions, options)
            }
            Kind::Depthwise => {
                let arguments = DepthwiseConv2DOptionsArgs {
                    padding: Padding::SAME,
                    stride_w: 1,
                    stride_h: 1,
                    depth_multiplier: 1,
                    fused_activation_function,
                    ..Default::default()
                };
                let options = DepthwiseConv2DOptions::create(b, &arguments).as_union_value();
                (BuiltinOperator::DEPTHWISE_CONV_2D, BuiltinOptions::DepthwiseConv2DOptions, options)
            }
            Kind::Dense => {
                let arguments = FullyConnectedOptionsArgs { fused_activation_function, ..Default::default() };
                let options = FullyConnectedOptions::create(b, &arguments).as_union_value();
                (BuiltinOperator::FULLY_CONNECTED, BuiltinOptions::FullyConnectedOptions, options)
            }
        }
    }
}

/// Adds a tensor with its buffer. The last argument has its scales, its zero point, and the dimension of the scales.
fn tensor<'b>(
    b: &mut FlatBufferBuilder<'b>,
    element: TensorType,
    shape: &[i32],
    buffer: u32,
    (scales, zero_point, quantized_dimension): (&[f32], i64, i32),
) -> WIPOffset<Tensor<'b>> {
    let zero_points = vec![zero_point; scales.len()];
    let (scale, zero_point) = (Some(b.create_vector(scales)), Some(b.create_vector(&zero_points)));
    let arguments = QuantizationParametersArgs { scale, zero_point, quantized_dimension, ..Default::default() };
    let quantization = Some(QuantizationParameters::create(b, &arguments));
    let shape = Some(b.create_vector(shape));
    Tensor::create(b, &TensorArgs { shape, type_: element, buffer, quantization, ..Default::default() })
}
