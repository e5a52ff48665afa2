//! The rules of the kernel language, as a kernel breaks them.

use crate::*;

/// A broken rule with the values, types and names that break it. Its text is a sentence about the mistake.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Rule {
    /// A buffer of masks.
    #[error("buffer {0} of masks")]
    BufferOfMasks(String),
    /// An alignment that is no power of two.
    #[error("buffer {buffer} has an alignment of {alignment}")]
    Alignment {
        /// The buffer's name.
        buffer: String,
        /// The alignment.
        alignment: u32,
    },
    /// A buffer with more bytes than an index counts.
    #[error("buffer {buffer} of {elements} elements")]
    BufferLength {
        /// The buffer's name.
        buffer: String,
        /// The number of elements.
        elements: u64,
    },
    /// A buffer that the kernel does not declare.
    #[error("{0} is no buffer")]
    NoBuffer(Buffer),
    /// A number of integer parameters that the body does not have.
    #[error("{declared} integer parameters, but {found} of the body")]
    IntegerParameters {
        /// The number that the kernel declares.
        declared: usize,
        /// The number of parameters of the body.
        found: usize,
    },
    /// A body that yields.
    #[error("the body yields a value")]
    BodyYields,

    /// A number of lanes that is no power of two.
    #[error("{value} has {lanes} lanes")]
    Lanes {
        /// The value.
        value: Value,
        /// The number of lanes.
        lanes: u16,
    },
    /// A value that the kernel has no type for.
    #[error("{0} has no type")]
    NoType(Value),
    /// A second definition of a value.
    #[error("{0} is defined twice")]
    DefinedTwice(Value),
    /// A use of a value outside the region that defines it.
    #[error("{0} is used outside its region")]
    OutsideRegion(Value),
    /// A use of a value before its definition.
    #[error("{0} is used before it is defined")]
    NotYetDefined(Value),
    /// A value of another type than its use wants.
    #[error("{value} is {found}, not {wanted}")]
    WrongType {
        /// The value.
        value: Value,
        /// Its type.
        found: Type,
        /// The type that the use wants.
        wanted: Type,
    },
    /// An index of a type that counts no elements.
    #[error("{value} is {ty}, no index")]
    NoIndex {
        /// The value.
        value: Value,
        /// Its type.
        ty: Type,
    },

    /// A region or a statement with another number of values.
    #[error("{found} {list}, not {wanted}")]
    Count {
        /// The list of values.
        list: List,
        /// The number of values in it.
        found: usize,
        /// The number that the statement wants.
        wanted: usize,
    },
    /// A plain instruction with several results.
    #[error("more than one result")]
    ManyResults,
    /// An instruction that lacks its result.
    #[error("no result")]
    NoResult,
    /// A result of an instruction that has none.
    #[error("a result")]
    ResultOfEffect,
    /// A step that is not positive.
    #[error("a step of {0}")]
    Step(i64),
    /// Independent rounds with a carried value.
    #[error("independent rounds that carry a value")]
    RoundsCarry,

    /// A store to an input.
    #[error("a store to the input {0}")]
    StoreToInput(String),
    /// An access outside of its buffer.
    #[error("element {element} of {buffer}, which has {elements}")]
    Outside {
        /// The element that is accessed.
        element: i128,
        /// The buffer's name.
        buffer: String,
        /// The number of its elements.
        elements: u64,
    },
    /// A value in a buffer of another lane.
    #[error("{ty} in buffer {buffer} of {lane}")]
    Element {
        /// The type of the value.
        ty: Type,
        /// The buffer's name.
        buffer: String,
        /// The type of the buffer's elements.
        lane: Type,
    },
    /// A number of active lanes that the type does not have.
    #[error("{active} active lanes of {lanes}")]
    ActiveLanes {
        /// The number of active lanes.
        active: u16,
        /// The number of lanes.
        lanes: u16,
    },
    /// A group that does not divide its vector.
    #[error("a group of {group} for {ty}")]
    Group {
        /// The number of elements in the group.
        group: u16,
        /// The type of the vector.
        ty: Type,
    },
    /// Indices of a gather with another type.
    #[error("indices of type {from} for {ty}")]
    Indices {
        /// The type of the indices.
        from: Type,
        /// The type of the result.
        ty: Type,
    },
    /// Indices of one byte that may leave their buffer.
    #[error("bytes as indices of {elements} elements from {offset} on")]
    ByteIndices {
        /// The number of elements.
        elements: i64,
        /// The offset of index 0.
        offset: i64,
    },
    /// A failure with the status of success.
    #[error("a status of 0 is no failure")]
    StatusZero,

    /// A constant with more bits than its lane.
    #[error("a constant of more than {0} bits")]
    Constant(u32),
    /// A binary operation of lanes that it is not defined for.
    #[error("{0:?} of {1}")]
    Binary(BinaryOp, Type),
    /// A unary operation of lanes that it is not defined for.
    #[error("{0:?} of {1}")]
    Unary(UnaryOp, Type),
    /// A shift by a constant that is no shift of integers.
    #[error("{0:?} of {1} as a shift")]
    Shift(BinaryOp, Type),
    /// A shift by more bits than a lane has.
    #[error("a shift of {ty} by {count}")]
    ShiftCount {
        /// The type.
        ty: Type,
        /// The number of bits.
        count: u8,
    },
    /// A fused product of lanes without one.
    #[error("a fused product of {0}")]
    Fused(Type),
    /// A comparison that is not defined for these types.
    #[error("{op:?} of {from} to {to}")]
    Compare {
        /// The comparison.
        op: CompareOp,
        /// The type of the operands.
        from: Type,
        /// The type of the result.
        to: Type,
    },
    /// A conversion that is not defined for these types.
    #[error("{op:?} of {from} to {to}")]
    Convert {
        /// The conversion.
        op: ConvertOp,
        /// The type of the operand.
        from: Type,
        /// The type of the result.
        to: Type,
    },
    /// A combination of lanes that is not defined for these types.
    #[error("{op:?} of {from} to {to}")]
    Horizontal {
        /// The combination.
        op: HorizontalOp,
        /// The type of the operand.
        from: Type,
        /// The type of the result.
        to: Type,
    },
    /// A fixed-point operation of other lanes.
    #[error("{0}, where i32 lanes are wanted")]
    FixedPoint(Type),
    /// Products in squares with sums that are not in fours.
    #[error("squares in {0}")]
    Squares(Type),
    /// A mask of first lanes of another type.
    #[error("first lanes of {0}")]
    FirstLanes(Type),
    /// A lane that its vector does not have.
    #[error("lane {lane} of {from} as {to}")]
    Extract {
        /// The number of the lane.
        lane: u16,
        /// The type of the vector.
        from: Type,
        /// The type of the result.
        to: Type,
    },
    /// Two values joined to a scalar.
    #[error("two values joined to one lane")]
    Join,
    /// A part that its vector does not have.
    #[error("a part of {from} from lane {first} on as {to}")]
    Part {
        /// The type of the vector.
        from: Type,
        /// The first lane of the part.
        first: u16,
        /// The type of the result.
        to: Type,
    },
    /// A shuffle to another type.
    #[error("{lanes} lanes of {from} as {to}")]
    Shuffle {
        /// The number of lanes that are named.
        lanes: usize,
        /// The type of the operands.
        from: Type,
        /// The type of the result.
        to: Type,
    },
    /// A lane that two vectors do not have.
    #[error("lane {lane} of two of {from}")]
    ShuffledLane {
        /// The number of the lane.
        lane: u16,
        /// The type of the vectors.
        from: Type,
    },
    /// Products that round to nearest beside ones that round towards zero.
    #[error("roundings of two kinds")]
    Roundings,

    /// A grid whose body has another number of parameters.
    #[error("a grid and {0} integer parameters")]
    GridParameters(usize),
    /// A position that is no index.
    #[error("the position {position} is {ty}, no index")]
    Position {
        /// The position.
        position: Value,
        /// Its type.
        ty: Type,
    },
    /// A grid without positions, with too many, or with empty workgroups.
    #[error("a grid of {positions} positions in workgroups of {workgroup}")]
    GridSize {
        /// The number of positions.
        positions: u64,
        /// The number of positions in a workgroup.
        workgroup: u32,
    },
    /// A grid that may fail, and has no word for the status.
    #[error("a kernel with a grid may fail, and its last pointer parameter is no output of one i32")]
    NoStatus,
    /// An access to the word of the status.
    #[error("an access to the status {0}")]
    StatusAccess(String),
    /// A shared buffer of a kernel without a grid.
    #[error("buffer {0} is shared, and there is no grid")]
    SharedWithoutGrid(String),
    /// A barrier of a kernel without a grid.
    #[error("a barrier, and no grid")]
    BarrierWithoutGrid,
    /// Workgroups that share memory, the last of which is not full.
    #[error("a shared buffer or a barrier, and {positions} positions do not fill workgroups of {workgroup}")]
    Workgroups {
        /// The number of positions.
        positions: u64,
        /// The number of positions in a workgroup.
        workgroup: u32,
    },
    /// Positions that may fail before a barrier.
    #[error("a shared buffer or a barrier, to which a position that has failed does not come")]
    FailsBeforeBarrier,
    /// A barrier in a loop with bounds that depend on the position.
    #[error("a barrier in a loop that may count differently at each position")]
    BarrierInLoop,
    /// A barrier that not every position comes to.
    #[error("a barrier under a condition")]
    BarrierUnderCondition,

    /// Independent rounds of which two touch one element, and one writes it.
    #[error("independent rounds of {0} that meet")]
    RoundsMeet(Value),
    /// Independent rounds in a kernel with a grid.
    #[error("a grid, and independent rounds")]
    GridOfRounds,
    /// An access to a buffer outside of the rounds that each have their own copy.
    #[error("an access to {0} outside of the rounds that each have their own")]
    OutsideRounds(String),
    /// A statement with an effect beside a divide.
    #[error("a divide that is not all that the kernel does")]
    DivideBesideOthers,
    /// A divide in a kernel with integer parameters.
    #[error("a divide, and integer parameters")]
    DivideParameters,
    /// A private buffer that is no scratch memory.
    #[error("buffer {0} is private, and no scratch memory")]
    PrivateKind(String),
    /// A loop with private buffers whose rounds run in order.
    #[error("rounds in order with private buffers")]
    PrivateInOrder,
    /// A buffer that is listed as private twice.
    #[error("buffer {0} is private twice")]
    PrivateTwice(String),
}

/// A list of values of a region or a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum List {
    /// Parameters of a region.
    Parameters,
    /// Values that a region yields.
    Yields,
    /// Results of a statement.
    Results,
}

impl std::fmt::Display for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Parameters => "region parameters",
            Self::Yields => "yields",
            Self::Results => "results",
        })
    }
}
