//! Fields of operators: their types, their text form, and the entities of the function or module that they name.

use super::words::Word;
use crate::attribute::{Attribute, AttributeKind};
use crate::entities::{Constant, Func, State};
use crate::scalar::{Expression, Scalar};
use crate::types::{ElementType, Extent, Interval, Type};

/// The entity outside its instruction that a field names.
pub enum Reference<'a> {
    /// No entity.
    Nothing,
    /// Extents, some of which may be index values of the function.
    Extents(&'a [Extent]),
    /// An expression, whose tables are constants of the module.
    Expression(&'a Expression),
    /// A constant of the module.
    Constant(Constant),
    /// A state of the module.
    State(State),
    /// A function of the module.
    Function(Func),
}

/// A mutable [`Reference`].
pub enum ReferenceMut<'a> {
    /// No entity.
    Nothing,
    /// Extents.
    Extents(&'a mut [Extent]),
    /// An expression.
    Expression(&'a mut Expression),
    /// A constant.
    Constant(&'a mut Constant),
    /// A state.
    State(&'a mut State),
    /// A function.
    Function(&'a mut Func),
}

/// The value of a field: of one of few types, each of which has a text form.
pub trait Field {
    /// The syntax of the type.
    fn kind(&self) -> AttributeKind;

    /// The value as the text form prints it.
    fn attribute(&self) -> Attribute;

    /// Takes a value that the text form has read; false when the type does not hold it.
    fn set(&mut self, attribute: Attribute) -> bool;

    /// Tests whether the text form leaves the field out. Such fields are the last ones of an operator.
    fn is_left_out(&self) -> bool {
        false
    }

    /// The entity that the field names.
    fn reference(&self) -> Reference<'_> {
        Reference::Nothing
    }

    /// The entity that the field names, mutable.
    fn reference_mut(&mut self) -> ReferenceMut<'_> {
        ReferenceMut::Nothing
    }
}

/// A field whose type is a type of attributes.
macro_rules! plain_field {
    ($($ty:ty: $kind:ident $(, $reference:ident($self:ident) $by:expr, $by_mut:expr)?;)*) => {$(
        impl Field for $ty {
            fn kind(&self) -> AttributeKind {
                AttributeKind::$kind
            }

            fn attribute(&self) -> Attribute {
                Attribute::$kind(self.clone().into())
            }

            fn set(&mut self, attribute: Attribute) -> bool {
                let Attribute::$kind(value) = attribute else { return false };
                value.try_into().map(|value| *self = value).is_ok()
            }

            $(
                fn reference(&$self) -> Reference<'_> {
                    Reference::$reference($by)
                }

                fn reference_mut(&mut $self) -> ReferenceMut<'_> {
                    ReferenceMut::$reference($by_mut)
                }
            )?
        }
    )*};
}

plain_field! {
    i64: Int;
    bool: Bool;
    Scalar: Scalar;
    ElementType: Element;
    Vec<i64>: Ints;
    Vec<Extent>: Extents, Extents(self) self, self;
    Constant: Constant, Constant(self) *self, self;
    State: State, State(self) *self, self;
    Func: Function, Function(self) *self, self;
    Interval: Interval;
    String: Text;
    Vec<Type>: Types;
}

/// Numbers that are not negative: the text form has integers only.
macro_rules! unsigned_field {
    ($($ty:ty),*) => {$(
        impl Field for $ty {
            fn kind(&self) -> AttributeKind {
                AttributeKind::Int
            }

            fn attribute(&self) -> Attribute {
                Attribute::Int(i64::try_from(*self).unwrap_or(i64::MAX))
            }

            fn set(&mut self, attribute: Attribute) -> bool {
                let Attribute::Int(number) = attribute else { return false };
                <$ty>::try_from(number).map(|number| *self = number).is_ok()
            }
        }
    )*};
}

unsigned_field!(u64, usize);

impl Field for Vec<usize> {
    fn kind(&self) -> AttributeKind {
        AttributeKind::Ints
    }

    fn attribute(&self) -> Attribute {
        Attribute::Ints(self.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect())
    }

    fn set(&mut self, attribute: Attribute) -> bool {
        let Attribute::Ints(list) = attribute else { return false };
        let numbers: Result<Self, _> = list.into_iter().map(usize::try_from).collect();
        numbers.map(|numbers| *self = numbers).is_ok()
    }
}

/// Represents a single extent as a list of one.
impl Field for Extent {
    fn kind(&self) -> AttributeKind {
        AttributeKind::Extents
    }

    fn attribute(&self) -> Attribute {
        Attribute::Extents(vec![*self])
    }

    fn set(&mut self, attribute: Attribute) -> bool {
        let Attribute::Extents(list) = attribute else { return false };
        let [extent] = list[..] else { return false };
        *self = extent;
        true
    }

    fn reference(&self) -> Reference<'_> {
        Reference::Extents(std::slice::from_ref(self))
    }

    fn reference_mut(&mut self) -> ReferenceMut<'_> {
        ReferenceMut::Extents(std::slice::from_mut(self))
    }
}

/// An extent that may be left out is a list of one or none.
impl Field for Option<Extent> {
    fn kind(&self) -> AttributeKind {
        AttributeKind::Extents
    }

    fn attribute(&self) -> Attribute {
        Attribute::Extents(self.as_slice().to_vec())
    }

    fn set(&mut self, attribute: Attribute) -> bool {
        let Attribute::Extents(list) = attribute else { return false };
        *self = match list[..] {
            [] => None,
            [extent] => Some(extent),
            _ => return false,
        };
        true
    }

    fn reference(&self) -> Reference<'_> {
        Reference::Extents(self.as_slice())
    }

    fn reference_mut(&mut self) -> ReferenceMut<'_> {
        ReferenceMut::Extents(self.as_mut_slice())
    }
}

impl Field for Expression {
    fn kind(&self) -> AttributeKind {
        AttributeKind::Expression
    }

    fn attribute(&self) -> Attribute {
        Attribute::Expression(Box::new(self.clone()))
    }

    fn set(&mut self, attribute: Attribute) -> bool {
        let Attribute::Expression(expression) = attribute else { return false };
        *self = *expression;
        true
    }

    fn reference(&self) -> Reference<'_> {
        Reference::Expression(self)
    }

    fn reference_mut(&mut self) -> ReferenceMut<'_> {
        ReferenceMut::Expression(self)
    }
}

impl<W: Word> Field for W {
    fn kind(&self) -> AttributeKind {
        AttributeKind::Word(W::WORDS)
    }

    fn attribute(&self) -> Attribute {
        Attribute::Word(self.word())
    }

    fn set(&mut self, attribute: Attribute) -> bool {
        let Attribute::Word(word) = attribute else { return false };
        W::from_word(word).map(|value| *self = value).is_some()
    }

    fn is_left_out(&self) -> bool {
        W::LEFT_OUT == Some(*self)
    }
}

/// The fields of an operator's struct by their names in the text form, in its order.
macro_rules! fields {
    ($($name:literal => $($member:ident).+),* $(,)?) => {
        fn fields(&self) -> Vec<(&'static str, &dyn $crate::operators::field::Field)> {
            vec![$(($name, &self.$($member).+)),*]
        }

        fn fields_mut(&mut self) -> Vec<(&'static str, &mut dyn $crate::operators::field::Field)> {
            vec![$(($name, &mut self.$($member).+)),*]
        }
    };
}

pub(super) use fields;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::{OPS, Operation, Reduction};

    #[test]
    fn fields_take_what_they_print_and_nothing_else() {
        for row in OPS {
            let mut operation = Operation::blank(row.op);
            for (name, field) in operation.field_list_mut() {
                let attribute = field.attribute();
                assert!(field.set(attribute.clone()), "{} {name}", row.name);
                assert_eq!(field.attribute(), attribute, "{} {name}", row.name);
                let other = if attribute == Attribute::Bool(false) { Attribute::Int(0) } else { Attribute::Bool(false) };
                assert!(!field.set(other), "{} {name}", row.name);
            }
        }
    }

    #[test]
    fn numbers_that_are_not_negative_refuse_others() {
        let (mut axis, mut axes, mut reduction) = (3usize, vec![1usize], Reduction::Max);
        assert!(!axis.set(Attribute::Int(-1)) && !axes.set(Attribute::Ints(vec![0, -1])) && !reduction.set(Attribute::Word("first")));
        assert_eq!((axis, axes, reduction), (3, vec![1], Reduction::Max));
    }

    #[test]
    fn one_extent_is_a_list_of_one_and_an_optional_one_of_none_too() {
        let (mut extent, mut given) = (Extent::Static(2), Some(Extent::Static(2)));
        assert!(!extent.set(Attribute::Extents(vec![])) && !given.set(Attribute::Extents(vec![Extent::Static(1); 2])));
        assert!(given.set(Attribute::Extents(vec![])) && given.is_none());
    }
}
