//! The two sides of a copy.

/// Source and target of a copy: buffers, or the first elements in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route<T> {
    /// Source.
    pub from: T,
    /// Target.
    pub to: T,
}

impl<T> Route<T> {
    /// Applies a function to both.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Route<U> {
        Route { from: f(self.from), to: f(self.to) }
    }
}
