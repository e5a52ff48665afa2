// Generated from colors.fbs; edits are lost.

/// Enum `Color`: any `u8`, with the values that the schema knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Color(pub u8);

impl Color {
    pub const RED: Self = Self(0);
    pub const GREEN: Self = Self(4);
    pub const BLUE: Self = Self(5);
    pub const CLEAR: Self = Self(255);

    /// Every known value with its name.
    pub const KNOWN: &'static [(Self, &'static str)] = &[
        (Self::RED, "RED"),
        (Self::GREEN, "GREEN"),
        (Self::BLUE, "BLUE"),
        (Self::CLEAR, "CLEAR"),
    ];

    /// The name of this value, if the schema knows it.
    pub fn variant_name(self) -> ::core::option::Option<&'static str> {
        Self::KNOWN.iter().find(|known| known.0 == self).map(|known| known.1)
    }
}

impl ::core::fmt::Debug for Color {
    fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        match self.variant_name() {
            ::core::option::Option::Some(name) => formatter.write_str(name),
            ::core::option::Option::None => ::core::write!(formatter, "Color({})", self.0),
        }
    }
}

impl<'a> ::flatbuffers::Follow<'a> for Color {
    type Inner = Self;
    #[inline]
    unsafe fn follow(buffer: &'a [u8], location: usize) -> Self {
        Self(unsafe { ::flatbuffers::read_scalar_at::<u8>(buffer, location) })
    }
}

impl ::flatbuffers::Push for Color {
    type Output = Self;
    #[inline]
    unsafe fn push(&self, destination: &mut [u8], _written: usize) {
        unsafe { ::flatbuffers::emplace_scalar::<u8>(destination, self.0) }
    }
}
