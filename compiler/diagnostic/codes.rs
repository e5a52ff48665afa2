//! The codes of diagnostics: each row has one meaning, an owner of the fault, and a remedy. `docs/DIAGNOSTICS.md` is this table.
//!
//! Numbers are stable: a new meaning takes a new number, and the number of a removed one stays unused. `MC01xx` are files and containers,
//! `MC02xx` the structure of graphs, `MC03xx` operators and shapes, `MC04xx` unsupported contents. `MC05xx` are data and runs, `MC06xx`
//! requirements and weights, `MC07xx` targets and output, `MC08xx` the command line, `MC09xx` mistakes of modelc.

use super::Kind;
use std::fmt;

/// The kind of a diagnostic, without its details. Only this file makes codes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Code(&'static Row);

#[derive(PartialEq, Eq, Hash, Debug)]
struct Row {
    number: u16,
    kind: Kind,
    meaning: &'static str,
    remedy: &'static str,
}

impl Code {
    /// Returns the number after `MC`.
    pub fn number(self) -> u16 {
        self.0.number
    }

    /// Returns whose fault it is.
    pub fn kind(self) -> Kind {
        self.0.kind
    }

    /// Returns the meaning, in one sentence.
    pub fn meaning(self) -> &'static str {
        self.0.meaning
    }

    /// Returns the remedy, in one sentence.
    pub fn remedy(self) -> &'static str {
        self.0.remedy
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MC{:04}", self.0.number)
    }
}

/// Defines a constant for each row, and the list of all.
macro_rules! codes {
    ($($number:literal $name:ident $kind:ident $meaning:literal $remedy:literal;)*) => {
        $(
            #[doc = $meaning]
            pub const $name: Code =
                Code(&Row { number: $number, kind: Kind::$kind, meaning: $meaning, remedy: $remedy });
        )*

        /// Every code by its constant's name, in the order of the numbers.
        pub const CODES: &[(&str, Code)] = &[$((stringify!($name), $name)),*];
    };
}

codes! {
    101 UNKNOWN_FORMAT Invalid
        "Unsupported file format."
        "Convert the model to `.tflite` or `.pte`. If modelc knows the format, the message gives the command.";
    102 UNREADABLE_FILE Io
        "A file cannot be read."
        "Check the path and its permissions.";
    110 DAMAGED_MODEL Invalid
        "The model file is corrupt or truncated."
        "Copy the file again, or convert the model again.";
    111 SCHEMA_VERSION Unsupported
        "The version of the TFLite schema is not 3."
        "Convert the model with a current converter.";
    112 DAMAGED_BUNDLE Invalid
        "The bundled program (`.bpte`) is corrupt, or contains no program."
        "Create the bundle again.";
    123 DAMAGED_DATA_FILE Invalid
        "The tensor file (`.ptd`) is corrupt, or belongs to another program."
        "Export it again together with its program.";

    201 BUFFER_INDEX Invalid
        "A tensor refers to a buffer that is not in the file."
        "Convert the model again.";
    202 BUFFER_RANGE Invalid
        "A constant extends beyond the end of the file."
        "Copy the file again: it may be truncated.";
    203 OPERAND_COUNT Invalid
        "The number of inputs or outputs of an operator or subgraph is wrong."
        "Report this to the authors of the converter that wrote the model.";
    204 READ_BEFORE_WRITTEN Invalid
        "A tensor is read before it is written."
        "Report this to the authors of the converter that wrote the model.";
    205 TENSOR_INDEX Invalid
        "A tensor index is out of range, or a required tensor is missing."
        "Report this to the authors of the converter that wrote the model.";
    206 INPUT_TWICE Invalid
        "The same tensor is an input of the model twice."
        "Use a separate tensor for each input.";
    207 OPERATOR_CODE Invalid
        "An operator code is not in the table of operator codes of the file."
        "Report this to the authors of the converter that wrote the model.";
    208 WRITTEN_TWICE Invalid
        "An operator writes a tensor that already has a value."
        "Report this to the authors of the converter that wrote the model.";
    209 SUBGRAPH_INDEX Invalid
        "An operator or signature refers to a subgraph that is not in the file."
        "Report this to the authors of the converter that wrote the model.";
    210 PROGRAM_STRUCTURE Invalid
        "The values and instructions of an ExecuTorch program contradict each other."
        "Export the program again.";
    211 OPTIONS_MISSING Invalid
        "The options of an operator are missing."
        "Convert the model with a current converter.";
    212 OPTIONS_UNREADABLE Invalid
        "The options of an operator cannot be read, or a required option is missing."
        "Convert the model again, with the right version of the operator.";
    213 SIGNATURE_NAME Invalid
        "Two signatures have the same name."
        "Give the signatures different names when you save the model.";
    214 RECURSION Invalid
        "A subgraph calls itself."
        "Write the recursion as a loop.";

    301 NEGATIVE_DIMENSION Invalid
        "A dimension is negative."
        "Correct the shape in the source of the model.";
    302 TOO_MANY_ELEMENTS Invalid
        "A shape has too many dimensions or elements."
        "Make the tensor smaller.";
    303 SHORT_CONSTANT Invalid
        "A constant is shorter than its shape."
        "Convert the model again.";
    304 SCALE Invalid
        "A quantization scale is out of range, or contradicts the scales of other tensors."
        "Quantize the model again, with representative data.";
    305 SCALE_COUNT Invalid
        "The number of scales or zero points does not equal the number of channels or blocks."
        "Quantize the model again.";
    306 ZERO_POINT Invalid
        "A zero point is out of range, or must be 0."
        "Quantize the model again.";
    307 OPERAND_TYPES Invalid
        "The types or shapes of an operator's inputs do not match each other."
        "Correct shapes and element types in the source of the model.";
    308 ELEMENT_TYPE Invalid
        "The element type of a tensor is wrong for its operator."
        "Cast the tensor in the source of the model.";
    309 QUANTIZATION_MISSING Invalid
        "A tensor that must be quantized has no scale, or it must be a constant and is not."
        "Quantize the whole model.";
    310 ARGUMENTS Invalid
        "The arguments of an ExecuTorch instruction contradict each other."
        "Export the program again. If the error stays, report it to the authors of the exporter.";
    311 SHAPES_DIFFER Invalid
        "Shapes, or the lengths of lists, do not match each other."
        "Correct the shapes in the source of the model.";
    312 OPTION_RANGE Invalid
        "A numeric option of an operator is out of range."
        "Correct the number in the source of the model.";
    313 OPTION_CHOICE Invalid
        "An option of an operator has an invalid value, or contradicts another option."
        "Correct the option in the source of the model.";
    314 RANK Invalid
        "The number of dimensions of a tensor is wrong for its operator."
        "Reshape the tensor in the source of the model.";
    315 SLICE_RANGE Invalid
        "A slice extends beyond its tensor, or is empty."
        "Correct positions and sizes in the source of the model.";
    316 VARIABLE Invalid
        "A variable is missing, or its type changes."
        "Convert the model again.";
    317 SPARSE_CONSTANT Invalid
        "The tables of a sparse constant contradict each other."
        "Convert the model again.";
    318 AXIS Invalid
        "An axis is out of range, or is not a single number."
        "Correct the axis in the source of the model.";
    320 SHAPE_GIVEN Usage
        "The given shape or bound does not fit any input."
        "`modelc inspect` lists the inputs and their shapes.";
    321 VALUE_GIVEN Usage
        "The given value does not fit any input."
        "`modelc inspect` lists the inputs and their types.";

    401 OPERATOR_UNSUPPORTED Unsupported
        "Unsupported operator."
        "`modelc ops` lists supported operators. `--custom NAME` calls your own function for a custom operator.";
    402 USE_UNSUPPORTED Unsupported
        "The operator is supported, but not with these options or types."
        "The message says what is supported; see also `docs/OPERATORS.md`.";
    403 ARITHMETIC_UNSUPPORTED Unsupported
        "Unsupported element types for this arithmetic."
        "Cast the operands in the source of the model.";
    404 VARIABLE_EXTENT Unsupported
        "A variable has a dynamic dimension."
        "Fix the shapes of the inputs: `--shape`.";
    405 DYNAMIC_UNSUPPORTED Unsupported
        "The operator is supported, but not on tensors with a dynamic dimension."
        "Fix the shapes of the inputs: `--shape`.";
    406 COMPUTED_WEIGHTS Unsupported
        "The operator is supported, but only with constant weights."
        "Make the weights constants in the source of the model. Computed integer weights need `--weights embed`.";
    407 TENSOR_TOO_LARGE Unsupported
        "A tensor or a window is too large for its operator."
        "Make the tensor or the window smaller in the source of the model.";
    410 TENSOR_UNSUPPORTED Unsupported
        "Unsupported element type or sparse format of a tensor."
        "Convert the model with another type.";
    411 STORAGE_OFFSET Unsupported
        "Unsupported tensor with a storage offset."
        "Export the program with contiguous tensors.";
    412 SHAPE_WITHOUT_BOUND Unsupported
        "A dimension of a tensor has no upper bound."
        "Export the program with a maximum for each dynamic dimension.";
    413 CONSTANT_ELSEWHERE Invalid
        "A constant is in a separate file, and that file is not given."
        "Name the file: `--data W.ptd`.";
    420 PROGRAM_UNSUPPORTED Unsupported
        "Unsupported feature of an ExecuTorch program."
        "The message names the feature. A plain export of the model often avoids it.";
    421 TOO_MANY_BRANCHES Unsupported
        "A method has too many branches."
        "Split the method.";
    490 NO_MACHINE_CODE Unsupported
        "A part of the model cannot be compiled for this target."
        "Choose another CPU level; `modelc targets` lists them.";
    491 WEIGHTS_TOO_LARGE Unsupported
        "The weights are too large for an object file."
        "Put them into a separate file: `--weights external`.";
    493 CONTROL_DEPTH Unsupported
        "Control flow is nested too deeply."
        "Flatten branches and loops in the source of the model.";
    494 GPU_LIMIT Unsupported
        "A kernel exceeds a limit of the GPU profile."
        "Choose a profile with larger limits (`--vk-profile`), or leave the operator on the CPU (`--gpu-ops`).";
    495 NO_BACK_END Unsupported
        "No back end compiles for the CPU level, or for a GPU, on this target."
        "Choose a CPU level of the target (`modelc targets` lists them), or compile without a GPU: `--gpu off`.";
    496 NO_LISTING Unsupported
        "Kernels of the CPU level have no text in Cranelift's language."
        "List their instructions: `--emit asm`.";

    500 DATA_FILE Io
        "A data file cannot be read or written."
        "Check the path and its permissions.";
    501 DAMAGED_ARCHIVE Invalid
        "A data file is corrupt, or is not a `.npz` or `.npy` file."
        "Write it again with `numpy.savez`.";
    502 ARRAY_SHAPE Invalid
        "The shape of an array does not match the input."
        "`modelc inspect` lists the inputs and their shapes.";
    503 ARRAY_TYPE Invalid
        "The element type of an array does not match the input."
        "Convert the array; `--input-type f32` quantizes floats.";
    504 NOTHING_TO_COMPARE Invalid
        "The file of expected outputs contains none of the model's outputs."
        "Give each array the name of its output, or `out0` and so on.";
    505 BUNDLED_METHOD Invalid
        "A bundle tests a method that is not in its program."
        "Create the bundle again.";
    506 ARRAY_MISSING Invalid
        "The data file contains no array for an input."
        "Give each array the name of its input, or `in0` and so on.";
    507 KNOWN_VALUE Invalid
        "An input differs from the value that the model was compiled for."
        "Use that value, or compile the model for another value.";
    508 STATE_BETWEEN_MODELS Invalid
        "The calls have different shapes, and the model keeps state between calls."
        "Run these calls separately.";
    509 CALL_COUNT Invalid
        "The data file contains too many calls."
        "Divide the data among several files.";
    510 INPUT_COUNT Invalid
        "The number of inputs of a call is wrong."
        "`modelc inspect` lists the inputs.";
    511 INPUT_SIZE Invalid
        "An input of a call has the wrong size."
        "`modelc inspect` lists the inputs and their shapes.";
    512 METHOD_INDEX Usage
        "The model has no such method."
        "`modelc inspect` lists the methods.";
    513 CALL_FAILED Invalid
        "A call of the compiled model returned an error."
        "The message names the error code; the header explains the codes.";
    514 CUSTOM_FUNCTION Unsupported
        "The function of a custom operator is not in this process."
        "Compile the model to an object and link it with the function, or register one with the JIT.";
    515 INTERPRETER_FAILED Invalid
        "The interpreter cannot run the model on these inputs."
        "Check the inputs; `modelc verify` compares without the interpreter.";
    516 BUNDLED_OUTPUTS Invalid
        "A case of a bundle expects more outputs than its method has."
        "Create the bundle again.";
    517 EXPECTED_OUTPUT Invalid
        "The type or shape of an expected output does not match the method's output."
        "Record the outputs of this model; `modelc inspect` lists them.";
    518 TEST_SIZE Invalid
        "The inputs and expected outputs are too large for a C test program."
        "Test with fewer calls: `--inputs in.npz --expected out.npz`.";

    601 PORT_WITHOUT_BOUND Unsupported
        "An input or output has a dimension without an upper bound."
        "Give one: `--bound in0.DIMENSION=N`.";
    602 REQUIREMENT Invalid
        "The model exceeds a limit of `--require`, or the memory of the board."
        "`--report page.html` shows what uses the memory.";
    605 OTHER_MODEL Invalid
        "The weights do not belong to this object."
        "Compile the object again, or use the model that the object was compiled from.";
    606 NO_RECORD Invalid
        "The object has no record of external weights, or the record is corrupt."
        "Use an object that was compiled with `--weights external`.";
    607 OTHER_VERSION Invalid
        "The object was compiled with another version of modelc."
        "Compile the object again.";
    608 AREAS_TOO_SMALL Invalid
        "The tensors do not fit into the memory areas."
        "Enlarge the area that the message names, or add a slow one to `--memory`.";

    701 TARGET_NOT_YET Usage
        "Unsupported target."
        "`modelc targets` lists supported targets.";
    702 UNKNOWN_TARGET Usage
        "Unknown target."
        "`modelc targets` lists targets and their spellings.";
    703 UNKNOWN_LEVEL Usage
        "The CPU level is unknown, belongs to another target, or is one too many."
        "`modelc targets` lists the levels.";
    704 OTHER_CPU Usage
        "The CPU of this computer does not support the chosen level or target."
        "Choose a level that it supports, or remove `--cpu`.";
    705 ABI Usage
        "The ABI is unknown, or belongs to another target."
        "Remove `--abi` to use the default of the target.";
    706 WEIGHTS_PLACE Usage
        "Unknown place for the weights."
        "Use `--weights embed` or `--weights external`.";
    707 SECTION_NAME Usage
        "Invalid section name."
        "Choose another name.";
    708 SYMBOL_NAME Usage
        "Two symbols of the object would have the same name."
        "Give the object another name: `--name`.";
    709 SHARED Usage
        "No shared library is written for the target."
        "Write an object, and link it with the linker of the target.";
    710 CANNOT_WRITE Io
        "An output cannot be written."
        "Check the path, its permissions and the free disk space.";
    711 NO_MEMORY Io
        "The model needs more memory than there is, or than its target can address."
        "Give smaller extents (`--bound`, `--shape`), or run it where there is more.";
    712 OUTPUT_IS_INPUT Usage
        "An output would overwrite an input file."
        "Choose another name for the output.";
    713 OUTPUTS_COLLIDE Usage
        "Two outputs have the same path."
        "Choose another name for one of them.";
    714 FOREIGN_FILE Usage
        "An output would overwrite a file that modelc did not write."
        "Choose another name, or move the file away.";
    715 SUFFIX Usage
        "The suffix of an output belongs to another kind of file."
        "Use the suffix that the message names.";
    716 EXPORT Usage
        "A framework does not take the model's name or the target, or is unknown."
        "Choose another name (`--name`), target (`--target`) or framework (`--as`).";

    800 COMMAND_LINE Usage
        "Invalid command line."
        "`modelc --help` lists the arguments.";
    801 OPTION Usage
        "Invalid value of an option."
        "`modelc COMMAND --help` explains the options.";

    900 STOPPED Bug
        "modelc stopped unexpectedly."
        "Please report this, with the model.";
    901 CODE_GENERATION Bug
        "Code generation stopped unexpectedly."
        "Please report this, with the model.";
    902 OWN_CHECK Bug
        "An internal check of modelc failed."
        "Please report this, with the model.";
    903 OBJECT Bug
        "The object file cannot be written."
        "Please report this, with the model.";
    904 PLACEMENT Bug
        "The code cannot be placed in memory."
        "Please report this, with the model.";
    905 WROTE_OUTSIDE Bug
        "The compiled code wrote outside its buffers."
        "Please report this, with the model.";
    906 KERNEL_RULE Bug
        "A kernel breaks a rule of the kernel language."
        "Please report this, with the model.";
    907 DRIVER_RULE Bug
        "A function of the driver breaks a rule of the driver language."
        "Please report this, with the model.";
    908 ASSEMBLY Bug
        "A function cannot be assembled: its registers, addresses or jumps fit no instruction."
        "Please report this, with the model.";
    909 LOWERING Bug
        "A back end fails to select instructions for a kernel."
        "Please report this, with the model.";
    910 CRANELIFT Bug
        "Cranelift refuses a function or a setting."
        "Please report this, with the model.";
}

#[cfg(test)]
mod examples;
#[cfg(test)]
mod tests;
