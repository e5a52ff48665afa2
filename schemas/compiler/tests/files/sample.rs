// Generated from sample.fbs; edits are lost.

/// Enum `Sign`: any `i8`, with the values that the schema knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sign(pub i8);

impl Sign {
    pub const MINUS: Self = Self(-1);
    pub const ZERO: Self = Self(0);
    pub const PLUS: Self = Self(1);

    /// Every known value with its name.
    pub const KNOWN: &'static [(Self, &'static str)] = &[
        (Self::MINUS, "MINUS"),
        (Self::ZERO, "ZERO"),
        (Self::PLUS, "PLUS"),
    ];

    /// The name of this value, if the schema knows it.
    pub fn variant_name(self) -> ::core::option::Option<&'static str> {
        Self::KNOWN.iter().find(|known| known.0 == self).map(|known| known.1)
    }
}

impl ::core::fmt::Debug for Sign {
    fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        match self.variant_name() {
            ::core::option::Option::Some(name) => formatter.write_str(name),
            ::core::option::Option::None => ::core::write!(formatter, "Sign({})", self.0),
        }
    }
}

impl<'a> ::flatbuffers::Follow<'a> for Sign {
    type Inner = Self;
    #[inline]
    unsafe fn follow(buffer: &'a [u8], location: usize) -> Self {
        Self(unsafe { ::flatbuffers::read_scalar_at::<i8>(buffer, location) })
    }
}

impl ::flatbuffers::Push for Sign {
    type Output = Self;
    #[inline]
    unsafe fn push(&self, destination: &mut [u8], _written: usize) {
        unsafe { ::flatbuffers::emplace_scalar::<i8>(destination, self.0) }
    }
}

/// The tag of union `Value`: any `u8`, with those that the schema knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Value(pub u8);

impl Value {
    pub const NONE: Self = Self(0);
    pub const String: Self = Self(1);
    pub const Vector: Self = Self(2);
    pub const Other: Self = Self(3);
    pub const Empty: Self = Self(4);

    /// Every known value with its name.
    pub const KNOWN: &'static [(Self, &'static str)] = &[
        (Self::NONE, "NONE"),
        (Self::String, "String"),
        (Self::Vector, "Vector"),
        (Self::Other, "Other"),
        (Self::Empty, "Empty"),
    ];

    /// The name of this value, if the schema knows it.
    pub fn variant_name(self) -> ::core::option::Option<&'static str> {
        Self::KNOWN.iter().find(|known| known.0 == self).map(|known| known.1)
    }
}

impl ::core::fmt::Debug for Value {
    fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        match self.variant_name() {
            ::core::option::Option::Some(name) => formatter.write_str(name),
            ::core::option::Option::None => ::core::write!(formatter, "Value({})", self.0),
        }
    }
}

impl<'a> ::flatbuffers::Follow<'a> for Value {
    type Inner = Self;
    #[inline]
    unsafe fn follow(buffer: &'a [u8], location: usize) -> Self {
        Self(unsafe { ::flatbuffers::read_scalar_at::<u8>(buffer, location) })
    }
}

impl ::flatbuffers::Push for Value {
    type Output = Self;
    #[inline]
    unsafe fn push(&self, destination: &mut [u8], _written: usize) {
        unsafe { ::flatbuffers::emplace_scalar::<u8>(destination, self.0) }
    }
}

impl Value {
    /// The verifier of the table that a tag announces; none of an unknown one.
    pub fn table_verifier(tag: u8) -> ::core::option::Option<fn(&mut ::flatbuffers::Verifier<'_, '_>, usize, u32) -> ::core::result::Result<(), ::flatbuffers::InvalidFlatbuffer>> {
        match Self(tag) {
            Self::String => ::core::option::Option::Some(String::verify),
            Self::Vector => ::core::option::Option::Some(Vector::verify),
            Self::Other => ::core::option::Option::Some(Vector::verify),
            Self::Empty => ::core::option::Option::Some(Empty::verify),
            _ => ::core::option::Option::None,
        }
    }
}

type Verified<T> = ::core::result::Result<T, ::flatbuffers::InvalidFlatbuffer>;

/// A check of the table at a position, with its nesting depth.
type Check = fn(&mut ::flatbuffers::Verifier<'_, '_>, usize, u32) -> Verified<()>;

/// Limit of the nesting of tables.
const MOST_NESTED: u32 = 64;

/// A table that is being checked: where it is, where its slots are, and their bytes.
struct Fields {
    position: usize,
    slots: usize,
    bytes: usize,
    depth: u32,
}

impl Fields {
    fn of(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize, depth: u32) -> Verified<Self> {
        if depth >= MOST_NESTED {
            return ::core::result::Result::Err(::flatbuffers::InvalidFlatbuffer::DepthLimitReached);
        }
        let back = i32::from_le_bytes(bytes_at(verifier, position)?);
        let slots = (position as u64).checked_add_signed(-i64::from(back)).and_then(|slots| usize::try_from(slots).ok());
        let slots = slots.ok_or(::flatbuffers::InvalidFlatbuffer::SignedOffsetOutOfBounds {
            soffset: back,
            position,
            error_trace: ::core::default::Default::default(),
        })?;
        let bytes = usize::from(u16::from_le_bytes(bytes_at(verifier, slots)?));
        verifier.range_in_buffer(slots, bytes)?;
        ::core::result::Result::Ok(Self { position, slots, bytes, depth })
    }

    /// Returns the position of a field, if the table has it.
    fn find(&self, verifier: &mut ::flatbuffers::Verifier<'_, '_>, slot: ::flatbuffers::VOffsetT) -> Verified<::core::option::Option<usize>> {
        let slot = usize::from(slot);
        if slot + 2 > self.bytes {
            return ::core::result::Result::Ok(::core::option::Option::None);
        }
        let offset = u16::from_le_bytes(bytes_at(verifier, self.slots + slot)?);
        ::core::result::Result::Ok((offset != 0).then(|| self.position.saturating_add(usize::from(offset))))
    }

    fn scalar(&self, verifier: &mut ::flatbuffers::Verifier<'_, '_>, slot: ::flatbuffers::VOffsetT, size: usize) -> Verified<()> {
        match self.find(verifier, slot)? {
            ::core::option::Option::Some(place) => verifier.range_in_buffer(place, size),
            ::core::option::Option::None => ::core::result::Result::Ok(()),
        }
    }

    /// A field that is an offset, and what it leads to.
    fn behind(
        &self,
        verifier: &mut ::flatbuffers::Verifier<'_, '_>,
        slot: ::flatbuffers::VOffsetT,
        check: impl ::core::ops::Fn(&mut ::flatbuffers::Verifier<'_, '_>, usize) -> Verified<()>,
    ) -> Verified<()> {
        let ::core::option::Option::Some(place) = self.find(verifier, slot)? else { return ::core::result::Result::Ok(()) };
        let place = target(verifier, place)?;
        check(verifier, place)
    }

    fn numbers(&self, verifier: &mut ::flatbuffers::Verifier<'_, '_>, slot: ::flatbuffers::VOffsetT, size: usize) -> Verified<()> {
        self.behind(verifier, slot, |verifier, vector| elements(verifier, vector, size).map(|_| ()))
    }

    fn string(&self, verifier: &mut ::flatbuffers::Verifier<'_, '_>, slot: ::flatbuffers::VOffsetT) -> Verified<()> {
        self.behind(verifier, slot, text)
    }

    fn strings(&self, verifier: &mut ::flatbuffers::Verifier<'_, '_>, slot: ::flatbuffers::VOffsetT) -> Verified<()> {
        self.behind(verifier, slot, |verifier, vector| each(verifier, vector, text))
    }

    fn table(&self, verifier: &mut ::flatbuffers::Verifier<'_, '_>, slot: ::flatbuffers::VOffsetT, check: Check) -> Verified<()> {
        self.behind(verifier, slot, |verifier, table| check(verifier, table, self.depth + 1))
    }

    fn tables(&self, verifier: &mut ::flatbuffers::Verifier<'_, '_>, slot: ::flatbuffers::VOffsetT, check: Check) -> Verified<()> {
        self.behind(verifier, slot, |verifier, vector| each(verifier, vector, |verifier, table| check(verifier, table, self.depth + 1)))
    }

    /// A union: the tag says which table the value is. That of an unknown tag is never read, and so not looked at.
    fn union(
        &self,
        verifier: &mut ::flatbuffers::Verifier<'_, '_>,
        name: &'static str,
        [tag, slot]: [::flatbuffers::VOffsetT; 2],
        check: fn(u8) -> ::core::option::Option<Check>,
    ) -> Verified<()> {
        match (self.find(verifier, tag)?, self.find(verifier, slot)?) {
            (::core::option::Option::None, ::core::option::Option::None) => ::core::result::Result::Ok(()),
            (::core::option::Option::Some(tag), ::core::option::Option::Some(_)) => match check(verifier.get_u8(tag)?) {
                ::core::option::Option::Some(check) => self.table(verifier, slot, check),
                ::core::option::Option::None => self.scalar(verifier, slot, ::flatbuffers::SIZE_UOFFSET),
            },
            _ => ::flatbuffers::InvalidFlatbuffer::new_inconsistent_union("the tag of a union", name),
        }
    }
}

fn bytes_at<const N: usize>(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize) -> Verified<[u8; N]> {
    let mut bytes = [0; N];
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = verifier.get_u8(position.saturating_add(i))?;
    }
    ::core::result::Result::Ok(bytes)
}

/// Returns the target of the offset at a position.
fn target(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize) -> Verified<usize> {
    ::core::result::Result::Ok(position.saturating_add(u32::from_le_bytes(bytes_at(verifier, position)?) as usize))
}

/// The first element of a vector, and how many it has.
fn elements(verifier: &mut ::flatbuffers::Verifier<'_, '_>, vector: usize, size: usize) -> Verified<(usize, usize)> {
    let count = u32::from_le_bytes(bytes_at(verifier, vector)?) as usize;
    let first = vector.saturating_add(::flatbuffers::SIZE_UOFFSET);
    verifier.range_in_buffer(first, count.saturating_mul(size))?;
    ::core::result::Result::Ok((first, count))
}

/// A vector of offsets, and what each leads to.
fn each(
    verifier: &mut ::flatbuffers::Verifier<'_, '_>,
    vector: usize,
    check: impl ::core::ops::Fn(&mut ::flatbuffers::Verifier<'_, '_>, usize) -> Verified<()>,
) -> Verified<()> {
    let (first, count) = elements(verifier, vector, ::flatbuffers::SIZE_UOFFSET)?;
    for i in 0..count {
        let place = target(verifier, first + i * ::flatbuffers::SIZE_UOFFSET)?;
        check(verifier, place)?;
    }
    ::core::result::Result::Ok(())
}

/// A string: UTF-8 with a zero after it.
fn text(verifier: &mut ::flatbuffers::Verifier<'_, '_>, vector: usize) -> Verified<()> {
    let count = u32::from_le_bytes(bytes_at(verifier, vector)?) as usize;
    let range = vector.saturating_add(::flatbuffers::SIZE_UOFFSET)..vector.saturating_add(::flatbuffers::SIZE_UOFFSET).saturating_add(count);
    let mut bytes = ::std::vec::Vec::new();
    for position in range.clone() {
        bytes.push(verifier.get_u8(position)?);
    }
    if let ::core::result::Result::Err(error) = ::core::str::from_utf8(&bytes) {
        return ::core::result::Result::Err(::flatbuffers::InvalidFlatbuffer::Utf8Error {
            error,
            range,
            error_trace: ::core::default::Default::default(),
        });
    }
    match verifier.get_u8(range.end) {
        ::core::result::Result::Ok(0) => ::core::result::Result::Ok(()),
        _ => ::core::result::Result::Err(::flatbuffers::InvalidFlatbuffer::MissingNullTerminator {
            range,
            error_trace: ::core::default::Default::default(),
        }),
    }
}

/// Table `String`.
#[derive(Clone, Copy)]
pub struct String<'a> {
    table: ::flatbuffers::Table<'a>,
}

impl<'a> ::flatbuffers::Follow<'a> for String<'a> {
    type Inner = Self;
    #[inline]
    unsafe fn follow(buffer: &'a [u8], location: usize) -> Self {
        Self { table: unsafe { ::flatbuffers::Table::new(buffer, location) } }
    }
}

impl<'a> String<'a> {
    pub const VT_TEXT: ::flatbuffers::VOffsetT = 4;

    /// The view of `table`.
    ///
    /// # Safety
    /// `table` has been verified as a table of this type.
    #[inline]
    pub unsafe fn init_from_table(table: ::flatbuffers::Table<'a>) -> Self {
        Self { table }
    }

    #[inline]
    pub fn text(&self) -> ::core::option::Option<&'a str> {
        unsafe { self.table.get::<::flatbuffers::ForwardsUOffset<&'a str>>(Self::VT_TEXT, ::core::option::Option::None) }
    }
}

impl String<'_> {
    /// Checks the table at `position`, which `depth` tables are around.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn verify(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize, depth: u32) -> Verified<()> {
        let table = Fields::of(verifier, position, depth)?;
        table.string(verifier, Self::VT_TEXT)?;
        ::core::result::Result::Ok(())
    }
}

impl ::flatbuffers::Verifiable for String<'_> {
    fn run_verifier(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize) -> Verified<()> {
        Self::verify(verifier, position, 0)
    }
}

impl<'a> ::core::fmt::Debug for String<'a> {
    #[inline]
    fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        let mut fields = formatter.debug_struct("String");
        fields.field("text", &self.text());
        fields.finish()
    }
}

/// Fields for [`String::create`].
#[derive(Clone, Copy)]
pub struct StringArgs<'a> {
    pub text: ::core::option::Option<::flatbuffers::WIPOffset<&'a str>>,
}

impl<'a> ::core::default::Default for StringArgs<'a> {
    #[inline]
    fn default() -> Self {
        Self {
            text: ::core::option::Option::None,
        }
    }
}

impl<'a> String<'a> {
    /// Writes a table; fields at their default are left out.
    #[inline]
    pub fn create(
        builder: &mut ::flatbuffers::FlatBufferBuilder<'a>,
        arguments: &StringArgs<'a>,
    ) -> ::flatbuffers::WIPOffset<String<'a>> {
        let start = builder.start_table();
        if let ::core::option::Option::Some(offset) = arguments.text {
            builder.push_slot_always(Self::VT_TEXT, offset);
        }
        let end = builder.end_table(start);
        ::flatbuffers::WIPOffset::new(end.value())
    }
}

/// Table `Vector`.
#[derive(Clone, Copy)]
pub struct Vector<'a> {
    table: ::flatbuffers::Table<'a>,
}

impl<'a> ::flatbuffers::Follow<'a> for Vector<'a> {
    type Inner = Self;
    #[inline]
    unsafe fn follow(buffer: &'a [u8], location: usize) -> Self {
        Self { table: unsafe { ::flatbuffers::Table::new(buffer, location) } }
    }
}

impl<'a> Vector<'a> {
    pub const VT_ITEMS: ::flatbuffers::VOffsetT = 4;

    /// The view of `table`.
    ///
    /// # Safety
    /// `table` has been verified as a table of this type.
    #[inline]
    pub unsafe fn init_from_table(table: ::flatbuffers::Table<'a>) -> Self {
        Self { table }
    }

    #[inline]
    pub fn items(&self) -> ::core::option::Option<::flatbuffers::Vector<'a, i32>> {
        unsafe { self.table.get::<::flatbuffers::ForwardsUOffset<::flatbuffers::Vector<'a, i32>>>(Self::VT_ITEMS, ::core::option::Option::None) }
    }
}

impl Vector<'_> {
    /// Checks the table at `position`, which `depth` tables are around.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn verify(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize, depth: u32) -> Verified<()> {
        let table = Fields::of(verifier, position, depth)?;
        table.numbers(verifier, Self::VT_ITEMS, 4)?;
        ::core::result::Result::Ok(())
    }
}

impl ::flatbuffers::Verifiable for Vector<'_> {
    fn run_verifier(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize) -> Verified<()> {
        Self::verify(verifier, position, 0)
    }
}

impl<'a> ::core::fmt::Debug for Vector<'a> {
    #[inline]
    fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        let mut fields = formatter.debug_struct("Vector");
        fields.field("items", &self.items());
        fields.finish()
    }
}

/// Fields for [`Vector::create`].
#[derive(Clone, Copy)]
pub struct VectorArgs<'a> {
    pub items: ::core::option::Option<::flatbuffers::WIPOffset<::flatbuffers::Vector<'a, i32>>>,
}

impl<'a> ::core::default::Default for VectorArgs<'a> {
    #[inline]
    fn default() -> Self {
        Self {
            items: ::core::option::Option::None,
        }
    }
}

impl<'a> Vector<'a> {
    /// Writes a table; fields at their default are left out.
    #[inline]
    pub fn create(
        builder: &mut ::flatbuffers::FlatBufferBuilder<'a>,
        arguments: &VectorArgs<'a>,
    ) -> ::flatbuffers::WIPOffset<Vector<'a>> {
        let start = builder.start_table();
        if let ::core::option::Option::Some(offset) = arguments.items {
            builder.push_slot_always(Self::VT_ITEMS, offset);
        }
        let end = builder.end_table(start);
        ::flatbuffers::WIPOffset::new(end.value())
    }
}

/// Table `Empty`.
#[derive(Clone, Copy)]
pub struct Empty<'a> {
    table: ::flatbuffers::Table<'a>,
}

impl<'a> ::flatbuffers::Follow<'a> for Empty<'a> {
    type Inner = Self;
    #[inline]
    unsafe fn follow(buffer: &'a [u8], location: usize) -> Self {
        Self { table: unsafe { ::flatbuffers::Table::new(buffer, location) } }
    }
}

impl<'a> Empty<'a> {

    /// The view of `table`.
    ///
    /// # Safety
    /// `table` has been verified as a table of this type.
    #[inline]
    pub unsafe fn init_from_table(table: ::flatbuffers::Table<'a>) -> Self {
        Self { table }
    }
}

impl Empty<'_> {
    /// Checks the table at `position`, which `depth` tables are around.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn verify(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize, depth: u32) -> Verified<()> {
        let table = Fields::of(verifier, position, depth)?;
        let _ = table;
        ::core::result::Result::Ok(())
    }
}

impl ::flatbuffers::Verifiable for Empty<'_> {
    fn run_verifier(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize) -> Verified<()> {
        Self::verify(verifier, position, 0)
    }
}

impl<'a> ::core::fmt::Debug for Empty<'a> {
    #[inline]
    fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        let mut fields = formatter.debug_struct("Empty");
        fields.finish()
    }
}

/// Fields for [`Empty::create`].
#[derive(Clone, Copy)]
pub struct EmptyArgs {
}

impl ::core::default::Default for EmptyArgs {
    #[inline]
    fn default() -> Self {
        Self {
        }
    }
}

impl<'a> Empty<'a> {
    /// Writes a table; fields at their default are left out.
    #[inline]
    pub fn create(
        builder: &mut ::flatbuffers::FlatBufferBuilder<'a>,
        arguments: &EmptyArgs,
    ) -> ::flatbuffers::WIPOffset<Empty<'a>> {
        let start = builder.start_table();
        let _ = arguments;
        let end = builder.end_table(start);
        ::flatbuffers::WIPOffset::new(end.value())
    }
}

/// Table `Sample`.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    table: ::flatbuffers::Table<'a>,
}

impl<'a> ::flatbuffers::Follow<'a> for Sample<'a> {
    type Inner = Self;
    #[inline]
    unsafe fn follow(buffer: &'a [u8], location: usize) -> Self {
        Self { table: unsafe { ::flatbuffers::Table::new(buffer, location) } }
    }
}

impl<'a> Sample<'a> {
    pub const VT_FLAG: ::flatbuffers::VOffsetT = 4;
    pub const VT_SMALL: ::flatbuffers::VOffsetT = 6;
    pub const VT_BYTES: ::flatbuffers::VOffsetT = 10;
    pub const VT_WIDE: ::flatbuffers::VOffsetT = 12;
    pub const VT_RATIO: ::flatbuffers::VOffsetT = 14;
    pub const VT_LIMIT: ::flatbuffers::VOffsetT = 16;
    pub const VT_TYPE: ::flatbuffers::VOffsetT = 18;
    pub const VT_COLOR: ::flatbuffers::VOffsetT = 20;
    pub const VT_VALUE_TYPE: ::flatbuffers::VOffsetT = 22;
    pub const VT_VALUE: ::flatbuffers::VOffsetT = 24;
    pub const VT_NAME: ::flatbuffers::VOffsetT = 26;
    pub const VT_SIGNS: ::flatbuffers::VOffsetT = 28;
    pub const VT_NAMES: ::flatbuffers::VOffsetT = 30;
    pub const VT_CHILDREN: ::flatbuffers::VOffsetT = 32;
    pub const VT_ONLY: ::flatbuffers::VOffsetT = 34;
    pub const VT_HALVES: ::flatbuffers::VOffsetT = 36;

    /// The view of `table`.
    ///
    /// # Safety
    /// `table` has been verified as a table of this type.
    #[inline]
    pub unsafe fn init_from_table(table: ::flatbuffers::Table<'a>) -> Self {
        Self { table }
    }

    #[inline]
    pub fn flag(&self) -> bool {
        unsafe { self.table.get::<bool>(Self::VT_FLAG, ::core::option::Option::None) }.unwrap_or(true)
    }

    #[inline]
    pub fn small(&self) -> i8 {
        unsafe { self.table.get::<i8>(Self::VT_SMALL, ::core::option::Option::None) }.unwrap_or(-5)
    }

    #[inline]
    pub fn bytes(&self) -> ::core::option::Option<::flatbuffers::Vector<'a, u8>> {
        unsafe { self.table.get::<::flatbuffers::ForwardsUOffset<::flatbuffers::Vector<'a, u8>>>(Self::VT_BYTES, ::core::option::Option::None) }
    }

    #[inline]
    pub fn wide(&self) -> u64 {
        unsafe { self.table.get::<u64>(Self::VT_WIDE, ::core::option::Option::None) }.unwrap_or(18446744073709551615)
    }

    #[inline]
    pub fn ratio(&self) -> f64 {
        unsafe { self.table.get::<f64>(Self::VT_RATIO, ::core::option::Option::None) }.unwrap_or(0.0015)
    }

    #[inline]
    pub fn limit(&self) -> f32 {
        unsafe { self.table.get::<f32>(Self::VT_LIMIT, ::core::option::Option::None) }.unwrap_or(f32::INFINITY)
    }

    #[inline]
    pub fn type_(&self) -> Sign {
        unsafe { self.table.get::<Sign>(Self::VT_TYPE, ::core::option::Option::None) }.unwrap_or(Sign(1))
    }

    #[inline]
    pub fn color(&self) -> super::colors::Color {
        unsafe { self.table.get::<super::colors::Color>(Self::VT_COLOR, ::core::option::Option::None) }.unwrap_or(super::colors::Color(255))
    }

    #[inline]
    pub fn value_type(&self) -> Value {
        unsafe { self.table.get::<Value>(Self::VT_VALUE_TYPE, ::core::option::Option::None) }.unwrap_or_default()
    }

    #[inline]
    pub fn value(&self) -> ::core::option::Option<::flatbuffers::Table<'a>> {
        unsafe { self.table.get::<::flatbuffers::ForwardsUOffset<::flatbuffers::Table<'a>>>(Self::VT_VALUE, ::core::option::Option::None) }
    }

    #[inline]
    pub fn value_as_string(&self) -> ::core::option::Option<String<'a>> {
        if self.value_type() != Value::String {
            return ::core::option::Option::None;
        }
        self.value().map(|table| unsafe { String::init_from_table(table) })
    }

    #[inline]
    pub fn value_as_vector(&self) -> ::core::option::Option<Vector<'a>> {
        if self.value_type() != Value::Vector {
            return ::core::option::Option::None;
        }
        self.value().map(|table| unsafe { Vector::init_from_table(table) })
    }

    #[inline]
    pub fn value_as_other(&self) -> ::core::option::Option<Vector<'a>> {
        if self.value_type() != Value::Other {
            return ::core::option::Option::None;
        }
        self.value().map(|table| unsafe { Vector::init_from_table(table) })
    }

    #[inline]
    pub fn value_as_empty(&self) -> ::core::option::Option<Empty<'a>> {
        if self.value_type() != Value::Empty {
            return ::core::option::Option::None;
        }
        self.value().map(|table| unsafe { Empty::init_from_table(table) })
    }

    #[inline]
    pub fn name(&self) -> ::core::option::Option<&'a str> {
        unsafe { self.table.get::<::flatbuffers::ForwardsUOffset<&'a str>>(Self::VT_NAME, ::core::option::Option::None) }
    }

    #[inline]
    pub fn signs(&self) -> ::core::option::Option<::flatbuffers::Vector<'a, Sign>> {
        unsafe { self.table.get::<::flatbuffers::ForwardsUOffset<::flatbuffers::Vector<'a, Sign>>>(Self::VT_SIGNS, ::core::option::Option::None) }
    }

    #[inline]
    pub fn names(&self) -> ::core::option::Option<::flatbuffers::Vector<'a, ::flatbuffers::ForwardsUOffset<&'a str>>> {
        unsafe { self.table.get::<::flatbuffers::ForwardsUOffset<::flatbuffers::Vector<'a, ::flatbuffers::ForwardsUOffset<&'a str>>>>(Self::VT_NAMES, ::core::option::Option::None) }
    }

    #[inline]
    pub fn children(&self) -> ::core::option::Option<::flatbuffers::Vector<'a, ::flatbuffers::ForwardsUOffset<Sample<'a>>>> {
        unsafe { self.table.get::<::flatbuffers::ForwardsUOffset<::flatbuffers::Vector<'a, ::flatbuffers::ForwardsUOffset<Sample<'a>>>>>(Self::VT_CHILDREN, ::core::option::Option::None) }
    }

    #[inline]
    pub fn only(&self) -> ::core::option::Option<Vector<'a>> {
        unsafe { self.table.get::<::flatbuffers::ForwardsUOffset<Vector<'a>>>(Self::VT_ONLY, ::core::option::Option::None) }
    }

    #[inline]
    pub fn halves(&self) -> ::core::option::Option<::flatbuffers::Vector<'a, i16>> {
        unsafe { self.table.get::<::flatbuffers::ForwardsUOffset<::flatbuffers::Vector<'a, i16>>>(Self::VT_HALVES, ::core::option::Option::None) }
    }
}

impl Sample<'_> {
    /// Checks the table at `position`, which `depth` tables are around.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn verify(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize, depth: u32) -> Verified<()> {
        let table = Fields::of(verifier, position, depth)?;
        table.scalar(verifier, Self::VT_FLAG, 1)?;
        table.scalar(verifier, Self::VT_SMALL, 1)?;
        table.numbers(verifier, Self::VT_BYTES, 1)?;
        table.scalar(verifier, Self::VT_WIDE, 8)?;
        table.scalar(verifier, Self::VT_RATIO, 8)?;
        table.scalar(verifier, Self::VT_LIMIT, 4)?;
        table.scalar(verifier, Self::VT_TYPE, 1)?;
        table.scalar(verifier, Self::VT_COLOR, 1)?;
        table.union(verifier, "value", [Self::VT_VALUE_TYPE, Self::VT_VALUE], Value::table_verifier)?;
        table.string(verifier, Self::VT_NAME)?;
        table.numbers(verifier, Self::VT_SIGNS, ::core::mem::size_of::<Sign>())?;
        table.strings(verifier, Self::VT_NAMES)?;
        table.tables(verifier, Self::VT_CHILDREN, Sample::verify)?;
        table.table(verifier, Self::VT_ONLY, Vector::verify)?;
        table.numbers(verifier, Self::VT_HALVES, 2)?;
        ::core::result::Result::Ok(())
    }
}

impl ::flatbuffers::Verifiable for Sample<'_> {
    fn run_verifier(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize) -> Verified<()> {
        Self::verify(verifier, position, 0)
    }
}

impl<'a> ::core::fmt::Debug for Sample<'a> {
    #[inline]
    fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        let mut fields = formatter.debug_struct("Sample");
        fields.field("flag", &self.flag());
        fields.field("small", &self.small());
        fields.field("bytes", &self.bytes().map(|bytes| ::std::format!("{} bytes", bytes.len())));
        fields.field("wide", &self.wide());
        fields.field("ratio", &self.ratio());
        fields.field("limit", &self.limit());
        fields.field("type", &self.type_());
        fields.field("color", &self.color());
        match self.value_type() {
            Value::String => fields.field("value", &self.value_as_string()),
            Value::Vector => fields.field("value", &self.value_as_vector()),
            Value::Other => fields.field("value", &self.value_as_other()),
            Value::Empty => fields.field("value", &self.value_as_empty()),
            tag => fields.field("value_type", &tag),
        };
        fields.field("name", &self.name());
        fields.field("signs", &self.signs());
        fields.field("names", &self.names());
        fields.field("children", &self.children());
        fields.field("only", &self.only());
        fields.field("halves", &self.halves());
        fields.finish()
    }
}

/// Fields for [`Sample::create`].
#[derive(Clone, Copy)]
pub struct SampleArgs<'a> {
    pub flag: bool,
    pub small: i8,
    pub bytes: ::core::option::Option<::flatbuffers::WIPOffset<::flatbuffers::Vector<'a, u8>>>,
    pub wide: u64,
    pub ratio: f64,
    pub limit: f32,
    pub type_: Sign,
    pub color: super::colors::Color,
    pub value_type: Value,
    pub value: ::core::option::Option<::flatbuffers::WIPOffset<::flatbuffers::UnionWIPOffset>>,
    pub name: ::core::option::Option<::flatbuffers::WIPOffset<&'a str>>,
    pub signs: ::core::option::Option<::flatbuffers::WIPOffset<::flatbuffers::Vector<'a, Sign>>>,
    pub names: ::core::option::Option<::flatbuffers::WIPOffset<::flatbuffers::Vector<'a, ::flatbuffers::ForwardsUOffset<&'a str>>>>,
    pub children: ::core::option::Option<::flatbuffers::WIPOffset<::flatbuffers::Vector<'a, ::flatbuffers::ForwardsUOffset<Sample<'a>>>>>,
    pub only: ::core::option::Option<::flatbuffers::WIPOffset<Vector<'a>>>,
    pub halves: ::core::option::Option<::flatbuffers::WIPOffset<::flatbuffers::Vector<'a, i16>>>,
}

impl<'a> ::core::default::Default for SampleArgs<'a> {
    #[inline]
    fn default() -> Self {
        Self {
            flag: true,
            small: -5,
            bytes: ::core::option::Option::None,
            wide: 18446744073709551615,
            ratio: 0.0015,
            limit: f32::INFINITY,
            type_: Sign(1),
            color: super::colors::Color(255),
            value_type: Value::NONE,
            value: ::core::option::Option::None,
            name: ::core::option::Option::None,
            signs: ::core::option::Option::None,
            names: ::core::option::Option::None,
            children: ::core::option::Option::None,
            only: ::core::option::Option::None,
            halves: ::core::option::Option::None,
        }
    }
}

impl<'a> Sample<'a> {
    /// Writes a table; fields at their default are left out.
    #[inline]
    pub fn create(
        builder: &mut ::flatbuffers::FlatBufferBuilder<'a>,
        arguments: &SampleArgs<'a>,
    ) -> ::flatbuffers::WIPOffset<Sample<'a>> {
        let start = builder.start_table();
        builder.push_slot::<u64>(Self::VT_WIDE, arguments.wide, 18446744073709551615);
        builder.push_slot::<f64>(Self::VT_RATIO, arguments.ratio, 0.0015);
        if let ::core::option::Option::Some(offset) = arguments.bytes {
            builder.push_slot_always(Self::VT_BYTES, offset);
        }
        builder.push_slot::<f32>(Self::VT_LIMIT, arguments.limit, f32::INFINITY);
        if let ::core::option::Option::Some(offset) = arguments.value {
            builder.push_slot_always(Self::VT_VALUE, offset);
        }
        if let ::core::option::Option::Some(offset) = arguments.name {
            builder.push_slot_always(Self::VT_NAME, offset);
        }
        if let ::core::option::Option::Some(offset) = arguments.signs {
            builder.push_slot_always(Self::VT_SIGNS, offset);
        }
        if let ::core::option::Option::Some(offset) = arguments.names {
            builder.push_slot_always(Self::VT_NAMES, offset);
        }
        if let ::core::option::Option::Some(offset) = arguments.children {
            builder.push_slot_always(Self::VT_CHILDREN, offset);
        }
        if let ::core::option::Option::Some(offset) = arguments.only {
            builder.push_slot_always(Self::VT_ONLY, offset);
        }
        if let ::core::option::Option::Some(offset) = arguments.halves {
            builder.push_slot_always(Self::VT_HALVES, offset);
        }
        builder.push_slot::<bool>(Self::VT_FLAG, arguments.flag, true);
        builder.push_slot::<i8>(Self::VT_SMALL, arguments.small, -5);
        builder.push_slot::<Sign>(Self::VT_TYPE, arguments.type_, Sign(1));
        builder.push_slot::<super::colors::Color>(Self::VT_COLOR, arguments.color, super::colors::Color(255));
        builder.push_slot(Self::VT_VALUE_TYPE, arguments.value_type, Value::NONE);
        let end = builder.end_table(start);
        ::flatbuffers::WIPOffset::new(end.value())
    }
}

/// The four characters at byte 4 of a file.
pub const SAMPLE_IDENTIFIER: &str = "SMPL";

/// Tests whether `buffer` has the identifier.
#[inline]
pub fn sample_buffer_has_identifier(buffer: &[u8]) -> bool {
    buffer.get(4..8) == ::core::option::Option::Some(SAMPLE_IDENTIFIER.as_bytes())
}

/// Verifies all of `buffer` and returns its root. The identifier is not looked at.
///
/// # Errors
/// The first thing found wrong. Alignment is no condition: readers copy numbers from wherever they lie.
pub fn root_as_sample_with_opts<'a>(
    options: &::flatbuffers::VerifierOptions,
    buffer: &'a [u8],
) -> ::core::result::Result<Sample<'a>, ::flatbuffers::InvalidFlatbuffer> {
    ::flatbuffers::root_with_opts::<Sample<'a>>(options, buffer)
}

/// The root of `buffer`, with nothing verified.
///
/// # Safety
/// `root_as_sample_with_opts` accepts `buffer`.
#[inline]
pub unsafe fn root_as_sample_unchecked(buffer: &[u8]) -> Sample<'_> {
    unsafe { ::flatbuffers::root_unchecked::<Sample<'_>>(buffer) }
}

/// Ends a buffer with `root` as its root, and the identifier if the schema has one.
#[inline]
pub fn finish_sample_buffer<'a>(
    builder: &mut ::flatbuffers::FlatBufferBuilder<'a>,
    root: ::flatbuffers::WIPOffset<Sample<'a>>,
) {
    builder.finish(root, ::core::option::Option::Some(SAMPLE_IDENTIFIER));
}
