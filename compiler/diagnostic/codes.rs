//! The codes of diagnostics: one row each, with one meaning, whose fault it is, and what to do. `docs/DIAGNOSTICS.md` is this table.
//!
//! Numbers are stable: a new meaning takes a new number, and the number of one that is gone stays unused. `MC01xx` are files and
//! containers, `MC02xx` the structure of graphs, `MC03xx` operators and shapes, `MC04xx` what is not compiled, `MC05xx` data and runs,
//! `MC06xx` requirements and weights, `MC07xx` targets and output, `MC08xx` the command line, `MC09xx` mistakes of modelc.

use super::Kind;
use std::fmt;

/// What a diagnostic says, apart from the words for the case. Only this file makes one.
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
    /// The number after `MC`.
    pub fn number(self) -> u16 {
        self.0.number
    }

    /// Whose fault it is.
    pub fn kind(self) -> Kind {
        self.0.kind
    }

    /// What is wrong, in one sentence.
    pub fn meaning(self) -> &'static str {
        self.0.meaning
    }

    /// What to do, in one sentence.
    pub fn remedy(self) -> &'static str {
        self.0.remedy
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MC{:04}", self.0.number)
    }
}

/// A constant for each row, and the list of all.
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
        "The file is no model in a format that is read."
        "Convert the model to `.tflite` or `.pte`; where the format is known, the message names the command.";
    102 UNREADABLE_FILE Io
        "A file cannot be read."
        "Check the path and its permissions.";
    110 DAMAGED_MODEL Invalid
        "The model's tables are damaged or cut off."
        "Fetch the file again, or convert the model again.";
    111 SCHEMA_VERSION Unsupported
        "The TFLite schema has another version than 3."
        "Convert the model with a current converter.";
    112 DAMAGED_BUNDLE Invalid
        "The bundled program is damaged, or holds no program."
        "Make the bundle again.";
    123 DAMAGED_DATA_FILE Invalid
        "The file of tensors (`.ptd`) is damaged, or is not the program's."
        "Export it again together with its program.";

    201 BUFFER_INDEX Invalid
        "A tensor names a buffer that the file does not have."
        "Convert the model again.";
    202 BUFFER_RANGE Invalid
        "A constant reaches past the end of the file."
        "Fetch the file again: it may be cut off.";
    203 OPERAND_COUNT Invalid
        "An operator or subgraph has too few or too many inputs or outputs."
        "Report it to the tool that wrote the model.";
    204 READ_BEFORE_WRITTEN Invalid
        "A tensor is read before anything writes it."
        "Report it to the tool that wrote the model.";
    205 TENSOR_INDEX Invalid
        "A tensor index is out of range, or a tensor that must be there is left out."
        "Report it to the tool that wrote the model.";
    206 INPUT_TWICE Invalid
        "One tensor is an input twice."
        "Give the model an input of its own for each.";
    207 OPERATOR_CODE Invalid
        "An operator's code is not in the file's table of codes."
        "Report it to the tool that wrote the model.";
    208 WRITTEN_TWICE Invalid
        "An operator writes a tensor that has a value already."
        "Report it to the tool that wrote the model.";
    209 SUBGRAPH_INDEX Invalid
        "An operator or signature names a subgraph that the file does not have."
        "Report it to the tool that wrote the model.";
    210 PROGRAM_STRUCTURE Invalid
        "An ExecuTorch program's values and instructions do not fit each other."
        "Export the program again.";
    211 OPTIONS_MISSING Invalid
        "An operator comes without its options."
        "Convert the model with a current converter.";
    212 OPTIONS_UNREADABLE Invalid
        "The options of an operator cannot be read, or lack one that it needs."
        "Convert the model again, with the version of the operator that it is for.";
    213 SIGNATURE_NAME Invalid
        "Two signatures have one name."
        "Name the signatures apart where the model is saved.";
    214 RECURSION Invalid
        "A subgraph calls itself."
        "Write the recursion as a loop.";

    301 NEGATIVE_DIMENSION Invalid
        "A dimension is negative."
        "Correct the shape where the model is made.";
    302 TOO_MANY_ELEMENTS Invalid
        "A shape has too many dimensions or elements."
        "Make the tensor smaller.";
    303 SHORT_CONSTANT Invalid
        "A constant is shorter than its shape."
        "Convert the model again.";
    304 SCALE Invalid
        "A quantization scale is out of range, or does not fit those of the other tensors."
        "Quantize the model again with data that is like what it will meet.";
    305 SCALE_COUNT Invalid
        "Scales or zero points are more or fewer than the slices that they are for."
        "Quantize the model again.";
    306 ZERO_POINT Invalid
        "A zero point is out of range, or must be 0."
        "Quantize the model again.";
    307 OPERAND_TYPES Invalid
        "The operands of an operator do not fit each other."
        "Correct shapes and element types where the model is made.";
    308 ELEMENT_TYPE Invalid
        "A tensor has another element type than its operator takes there."
        "Cast the tensor where the model is made.";
    309 QUANTIZATION_MISSING Invalid
        "A tensor that must be quantized has no scale, or is no constant."
        "Quantize the whole model.";
    310 ARGUMENTS Invalid
        "The arguments of an ExecuTorch instruction contradict each other."
        "Export the program again; if it is so again, report it to the exporter.";
    311 SHAPES_DIFFER Invalid
        "Shapes, or the lengths of lists, do not fit each other."
        "Correct the shapes where the model is made.";
    312 OPTION_RANGE Invalid
        "A number that an operator is told is out of range."
        "Correct the number where the model is made.";
    313 OPTION_CHOICE Invalid
        "An option has a value that it cannot have, or one that excludes another option's."
        "Correct the option where the model is made.";
    314 RANK Invalid
        "A tensor has another number of dimensions than its operator takes."
        "Reshape the tensor where the model is made.";
    315 SLICE_RANGE Invalid
        "A slice reaches outside its tensor, or leaves nothing of it."
        "Correct positions and sizes where the model is made.";
    316 VARIABLE Invalid
        "A variable is missing, or changes its type."
        "Convert the model again.";
    317 SPARSE_CONSTANT Invalid
        "The tables of a sparse constant contradict each other."
        "Convert the model again.";
    318 AXIS Invalid
        "An axis is out of range, or is not one."
        "Correct the axis where the model is made.";
    320 SHAPE_GIVEN Usage
        "A shape or bound is given that no input takes."
        "`modelc inspect` lists the inputs and their shapes.";
    321 VALUE_GIVEN Usage
        "A value is given that no input takes."
        "`modelc inspect` lists the inputs and their types.";

    401 OPERATOR_UNSUPPORTED Unsupported
        "An operator is not compiled."
        "`modelc ops` lists those that are; `--custom NAME` leaves a custom operator to a function of yours.";
    402 USE_UNSUPPORTED Unsupported
        "An operator is compiled, but not as the model uses it."
        "The message says which use is; `docs/OPERATORS.md` has the list.";
    403 ARITHMETIC_UNSUPPORTED Unsupported
        "Arithmetic is not defined on these element types."
        "Cast the operands where the model is made.";
    404 VARIABLE_EXTENT Unsupported
        "A variable has a size that is known only when the model runs."
        "Give the shapes of the inputs: `--shape`.";
    410 TENSOR_UNSUPPORTED Unsupported
        "A tensor has an element type or a sparse form that is not read."
        "Convert the model with another type.";
    411 STORAGE_OFFSET Unsupported
        "A tensor has a storage offset."
        "Export the program with contiguous tensors.";
    412 SHAPE_WITHOUT_BOUND Unsupported
        "A tensor's shape has no bound."
        "Export the program with a largest size for each dynamic dimension.";
    413 CONSTANT_ELSEWHERE Invalid
        "A constant is in a file that is not given."
        "Name the file: `--data W.ptd`.";
    420 PROGRAM_UNSUPPORTED Unsupported
        "An ExecuTorch program does what is not compiled."
        "The message says what; a plain export of the model often does without.";
    421 TOO_MANY_BRANCHES Unsupported
        "A method has too many branches."
        "Split the method.";
    490 NO_MACHINE_CODE Unsupported
        "There is no machine code for a part of the model on this target."
        "Choose another CPU level: `modelc targets` lists them.";
    491 WEIGHTS_TOO_LARGE Unsupported
        "The weights do not fit into an object."
        "Keep them in a file of their own: `--weights external`.";
    493 CONTROL_DEPTH Unsupported
        "Control flow is nested too deeply."
        "Flatten branches and loops where the model is made.";

    500 DATA_FILE Io
        "A data file cannot be read or written."
        "Check the path and its permissions.";
    501 DAMAGED_ARCHIVE Invalid
        "A data file is no sound `.npz`."
        "Write it again with `numpy.savez`.";
    502 ARRAY_SHAPE Invalid
        "An array does not have its input's shape."
        "`modelc inspect` lists the inputs and their shapes.";
    503 ARRAY_TYPE Invalid
        "An array does not have its input's element type."
        "Convert the array; `--input-type f32` quantizes floats.";
    504 NOTHING_TO_COMPARE Invalid
        "The expected outputs hold none of the model's outputs."
        "Name the arrays as the outputs are named, or `out0` and so on.";
    505 BUNDLED_METHOD Invalid
        "A bundle tests a method that its program does not have."
        "Make the bundle again.";
    506 ARRAY_MISSING Invalid
        "The data hold no array for an input."
        "Name the arrays as the inputs are named, or `in0` and so on.";
    507 KNOWN_VALUE Invalid
        "An array does not have the value that the model is compiled for."
        "Give that value, or compile the model for another one.";
    508 STATE_BETWEEN_MODELS Invalid
        "Calls need models of different shapes, and the model keeps state from call to call."
        "Give these calls apart.";
    509 CALL_COUNT Invalid
        "The data are of more calls than can be made."
        "Divide the data among several files.";
    510 INPUT_COUNT Invalid
        "A method is called with another number of inputs than it takes."
        "`modelc inspect` lists the inputs.";
    511 INPUT_SIZE Invalid
        "An input of a call has the wrong size."
        "`modelc inspect` lists the inputs and their shapes.";
    512 METHOD_INDEX Usage
        "A method is called that the model does not have."
        "`modelc inspect` lists the methods.";
    513 CALL_FAILED Invalid
        "The compiled model refused a call."
        "The message names the status; the header says what each means.";
    514 CUSTOM_FUNCTION Unsupported
        "The function of a custom operator is not in this process."
        "Compile the model to an object and link it with the function, or register one with the JIT.";
    515 INTERPRETER_FAILED Invalid
        "The model cannot be interpreted on these inputs."
        "Check the inputs; `modelc verify` compares without the interpreter.";
    516 BUNDLED_OUTPUTS Invalid
        "A case of a bundle expects more outputs than its method has."
        "Make the bundle again.";
    517 EXPECTED_OUTPUT Invalid
        "An expected output is not of the type or shape that the method gives."
        "Record the outputs of this model; `modelc inspect` lists them.";
    518 TEST_SIZE Invalid
        "The inputs and expected outputs are too large for a test in C."
        "Test with fewer calls: `--inputs in.npz --expected out.npz`.";

    601 PORT_WITHOUT_BOUND Unsupported
        "An input or output has no bound on its size."
        "Give one: `--bound in0.DIMENSION=N`.";
    602 REQUIREMENT Invalid
        "The model does not keep a limit that was asked for."
        "`--report page.html` shows where memory goes.";
    605 OTHER_MODEL Invalid
        "The weights are of another model than the object."
        "Compile the object again, or give the model that it was made of.";
    606 NO_RECORD Invalid
        "The object says nothing of weights in a file of their own, or its record is damaged."
        "Name an object made with `--weights external`.";
    607 OTHER_VERSION Invalid
        "The object was made by another version of modelc."
        "Compile the object again.";

    701 TARGET_NOT_YET Usage
        "A target is known, and is not there yet."
        "`modelc targets` lists those that are.";
    702 UNKNOWN_TARGET Usage
        "A target is unknown."
        "`modelc targets` lists targets and their spellings.";
    703 UNKNOWN_LEVEL Usage
        "A CPU level is unknown, or is not one of the target."
        "`modelc targets` lists the levels.";
    704 OTHER_CPU Usage
        "This computer's CPU is not of the level or target that is asked for."
        "Name a level that it has, or leave `--cpu` out.";
    705 ABI Usage
        "An ABI is unknown, or is not one of the target."
        "Leave `--abi` out for the target's own.";
    706 WEIGHTS_PLACE Usage
        "The place of the weights is unknown."
        "Say `--weights embed` or `--weights external`.";
    707 SECTION_NAME Usage
        "No section can have this name."
        "Choose another name.";
    708 SYMBOL_NAME Usage
        "Two symbols of the object would have one name."
        "Give the object another name: `--name`.";
    710 CANNOT_WRITE Io
        "An output cannot be written."
        "Check the path, its permissions and the room on the disk.";
    711 NO_MEMORY Io
        "There is no memory to run the model."
        "Run it where there is more.";
    712 OUTPUT_IS_INPUT Usage
        "An output would replace a file that is read."
        "Choose another name for the output.";
    713 OUTPUTS_COLLIDE Usage
        "Two outputs would be one file."
        "Choose another name for one of them.";
    714 FOREIGN_FILE Usage
        "An output would replace a file that modelc did not make."
        "Choose another name, or move the file away.";
    715 SUFFIX Usage
        "An output's suffix promises another kind of file."
        "Use the suffix that the message names.";

    800 COMMAND_LINE Usage
        "The command line cannot be read."
        "`modelc --help` lists the arguments.";
    801 OPTION Usage
        "An option has a value that it cannot have."
        "`modelc COMMAND --help` says what it takes.";

    900 STOPPED Bug
        "modelc stopped unexpectedly."
        "Please report it with the model.";
    901 CODE_GENERATION Bug
        "Code generation went wrong."
        "Please report it with the model.";
    902 OWN_CHECK Bug
        "A check of modelc's own refused what modelc made."
        "Please report it with the model.";
    903 OBJECT Bug
        "The object cannot be put together."
        "Please report it with the model.";
    904 PLACEMENT Bug
        "Code could not be placed in memory."
        "Please report it with the model.";
    905 WROTE_OUTSIDE Bug
        "Compiled code wrote outside its buffers."
        "Please report it with the model.";
}

#[cfg(test)]
mod tests;
