//! Random numbers. The runtime seeds a generator anew in each call; here they go on from call to call, from the same first one.

use super::super::draws::draws;
use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::ir::{Comparison, ElementType, Extent, Node, Scalar, Value};
use crate::operators::promotion::float_type;
use crate::operators::random;
use crate::operators::terms::{Term, Terms};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] =
    &[("aten::rand.out", uniform), ("aten::randn.out", normal), ("aten::native_dropout.out", dropout)];

/// (size): numbers of 0 ≤ x < 1.
fn uniform(c: &mut Call<'_, '_, '_>) -> Outcome {
    let element = c.out_form(c.out())?.element;
    filled(c, |terms, bits| random::uniform(terms, bits, element))
}

/// (size): numbers of the normal distribution, narrow types rounded from binary32.
fn normal(c: &mut Call<'_, '_, '_>) -> Outcome {
    let computed = float_type(c.out_form(c.out())?.element);
    filled(c, |terms, bits| random::normal(terms, bits, computed))
}

fn filled(c: &mut Call<'_, '_, '_>, number: impl FnOnce(&mut Terms, Node) -> Term) -> Outcome {
    let shape = c.sizes(0)?;
    let bits = draw(c, &shape)?;
    let y = c.graph().compute(&[bits], |terms, n| -> Result<Node, Fault> { Ok(number(terms, n[0])?) })?;
    c.finish(y)
}

/// 64 random bits for each element of a shape.
fn draw(c: &mut Call<'_, '_, '_>, shape: &[Extent]) -> Result<Value, Fault> {
    let counter = c.translator.plan.drawn.ok_or_else(|| Fault::unsupported("a delegate draws random numbers"))?;
    let drawn = c.translator.read(counter)?;
    let (bits, after) = random::bits(c.graph(), drawn, shape)?;
    c.translator.define(counter, after)?;
    Ok(bits)
}

/// (input, p, train, out, mask). Outside of training all elements pass. In training each becomes zero with probability p. The runtime does not scale
/// elements that pass by 1 ÷ (1 − p), as PyTorch does.
fn dropout(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, p) = (c.tensor(0)?, c.double(1)?);
    if !(0.0..=1.0).contains(&p) {
        return Err(Fault::invalid("the probability of dropout is out of range").expected("0 to 1", p.to_string()));
    }
    let shape = c.extents(x);
    if !draws(&c.translator.plan.values, "aten::native_dropout.out", c.args) {
        let kept = c.graph().scalar(Scalar::bool(true))?;
        let mask = c.graph().broadcast(kept, &shape)?;
        c.define(3, x)?;
        return c.define(4, mask);
    }
    let bits = draw(c, &shape)?;
    let mask = c.graph().compute(&[bits], |terms, n| -> Result<Node, Fault> {
        let number = random::uniform(terms, n[0], ElementType::F64)?;
        let p = terms.f64(p);
        Ok(terms.compare(Comparison::GreaterEqual, number, p)?)
    })?;
    let element = c.element(x);
    let y = c.graph().compute(&[mask, x], |terms, n| -> Result<Node, Fault> {
        let zero = terms.constant(Scalar::from_bits(element, 0));
        Ok(terms.select(n[0], n[1], zero)?)
    })?;
    c.define(3, y)?;
    c.define(4, mask)
}
