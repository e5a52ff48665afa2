//! `attention`: softmax of queries and keys, times values.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis};
use crate::fault::{Elements, Misfit, Ranks, Subject};
use crate::interpret::attention;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::scalar::{ExpressionBuilder, Scalar};
use crate::types::{ElementType, Extent};
use ElementType::{Bf16, F16, F32, I8};

/// Queries, keys and values.
const TENSORS: usize = 3;

/// The number of further operands of quantized keys and values: a scale and a zero point for each.
const PARAMETERS: usize = 4;

/// Attention of queries to the first keys of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Factor of the products of queries and keys, f32.
    pub scale: Scalar,
    /// The number of keys in use, one extent; the tensors may have room for more.
    pub keys: Vec<Extent>,
    /// The position of the first query, which sees keys up to that position. Each next query sees one more key. Empty if all keys are seen.
    pub causal_from: Vec<Extent>,
}

impl Attention {
    /// The index of the mask operand, if there is one: it follows keys, values and their quantization parameters.
    pub fn mask_operand(keys: ElementType) -> usize {
        if keys == I8 { TENSORS + PARAMETERS } else { TENSORS }
    }
}

impl Default for Attention {
    fn default() -> Self {
        Self { scale: Scalar::float(F32, 1.0), keys: vec![], causal_from: vec![] }
    }
}

impl Operator for Attention {
    const NAME: &'static str = "attention";
    const OPERANDS: Arity = Arity::AtLeast(3);
    const MEANING: &'static str = "Attention of f32: queries [B, S, H, D], keys and values [B, T, G, D] whose first `keys` positions count, G dividing H, so that neighbouring heads of queries share one of keys; result [B, S, H, D]. A score is the product of query and key times `scale`, plus the mask [S or 1, keys] where there is one more operand; query i sees keys up to `causal_from` + i, where that is given. Scores become weights by softmax. Keys and values are f32, f16 or bf16; or i8, after which four operands [B, T, G, 1] follow: scales f32 and zero points i8 of keys, then those of values. Then a number is its distance from the zero point times the scale.";

    fields! { "scale" => scale, "keys" => keys, "causal_from" => causal_from }

    fn infer(&self, cx: &Context<'_>) -> Types {
        cx.operand_element(1, Elements::Among(vec![F32, F16, Bf16, I8]))?;
        let element = cx.tensor(1)?.element;
        let mask = Self::mask_operand(element);
        let found = cx.operands.len();
        let expected = if found > mask { Arity::Exactly(mask + 1) } else { Arity::Exactly(mask) };
        cx.require(expected == Arity::Exactly(found), || Misfit::Operands { expected, found })?;
        let elements = [F32, element, element].into_iter().chain([F32, I8, F32, I8].into_iter().filter(|_| element == I8));
        for (operand, element) in elements.chain([F32]).take(found).enumerate() {
            cx.operand_element(operand, Elements::Among(vec![element]))?;
            cx.rank(Subject::Operand(operand), cx.tensor(operand)?.rank(), Ranks::Exactly(if operand == mask { 2 } else { 4 }))?;
        }
        cx.rank(Subject::Field("keys"), self.keys.len(), Ranks::Exactly(1))?;
        cx.rank(Subject::Field("causal_from"), self.causal_from.len(), Ranks::AtMost(1))?;
        let keys = cx.shape(Subject::Field("keys"), &self.keys)?[0];
        cx.shape(Subject::Field("causal_from"), &self.causal_from)?;
        let [query, key] = [cx.tensor(0)?, cx.tensor(1)?];
        let (heads, groups, _) = (cx.known(0, 2)?, cx.known(1, 2)?, cx.known(0, 3)?);
        let shared = groups > 0 && heads % groups == 0;
        cx.require(shared, || Misfit::Multiple { operand: 0, dimension: 2, of: Some(groups), found: query.shape[2] })?;
        for dimension in [0, 3] {
            cx.extent(Subject::Operand(1), dimension, key.shape[dimension], query.shape[dimension])?;
        }
        for operand in 2..mask {
            let depth = if operand < TENSORS { key.shape[3] } else { Extent::Static(1) };
            for (dimension, expected) in key.shape[..3].iter().copied().chain([depth]).enumerate() {
                cx.extent(Subject::Operand(operand), dimension, cx.tensor(operand)?.shape[dimension], expected)?;
            }
        }
        if let (Extent::Static(keys), Extent::Static(room)) = (keys, key.shape[1]) {
            cx.number("keys", None, i64::try_from(keys).unwrap_or(i64::MAX), 0, i64::try_from(room).unwrap_or(i64::MAX))?;
        }
        if found > mask {
            let ty = cx.tensor(mask)?;
            cx.extent(Subject::Operand(mask), 1, ty.shape[1], keys)?;
            if ty.shape[0] != Extent::Static(1) {
                cx.extent(Subject::Operand(mask), 0, ty.shape[0], query.shape[1])?;
            }
        }
        cx.one(F32, query.shape.clone())
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        let first = Self::mask_operand(cx.tensor(1)?.element);
        let mask = if cx.operands() > first { Some(cx.tensor(first)?) } else { None };
        let (keys, start) = (cx.numbers(&self.keys)?[0], cx.numbers(&self.causal_from)?.first().copied());
        let cache = |operand: usize, scale: usize| -> Step<attention::Cache<'_, 'm>> {
            let scaled = if first > TENSORS { Some([cx.tensor(scale)?, cx.tensor(scale + 1)?]) } else { None };
            Ok(attention::Cache { elements: cx.tensor(operand)?, scaled })
        };
        let how = attention::Seen { keys, start, mask };
        attention::attention(cx.tensor(0)?, [cache(1, 3)?, cache(2, 5)?], self.scale.as_f64() as f32, &how).map(Slot::one)
    }

    fn work(&self, cx: &Context<'_>) -> Option<u64> {
        cx.known_shape(1)?.get(1).copied()
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let [batch, queries, groups, together, depth] = [2, 5, 2, 3, 18].map(|most| generator.random.between(1, most) as u64);
        let room = generator.random.between(1, 20);
        generator.finite = true;
        let element = *generator.random.pick(&[F32, F32, F16, Bf16, I8]);
        let cache = [batch, room as u64, groups, depth];
        let mut leaves = vec![(F32, [batch, queries, groups * together, depth]), (element, cache), (element, cache)];
        if element == I8 {
            leaves.extend([F32, I8, F32, I8].map(|element| (element, [batch, room as u64, groups, 1])));
        }
        let mut operands = leaves.iter().map(|(element, shape)| generator.leaf(*element, shape)).collect::<Option<Vec<_>>>();
        if matches!(element, F16 | Bf16) && generator.random.one_in(2) {
            // Halves that are widened in memory.
            let mut expression = ExpressionBuilder::new(&[element]);
            let half = expression.input(0);
            let wide = expression.convert(half, F32);
            let expression = expression.finish(vec![wide]);
            for cache in operands.iter_mut().flat_map(|operands| &mut operands[1..]) {
                *cache = generator.draft.map(&[*cache], expression.clone())?;
            }
        }
        let keys = generator.random.between(1, room);
        if generator.random.one_in(3) {
            let rows = if generator.random.one_in(2) { queries } else { 1 };
            let mask = generator.leaf(F32, &[rows, keys as u64]);
            operands = operands.and_then(|operands| Some([operands, vec![mask?]].concat()));
        }
        generator.finite = false;
        let causal_from = if generator.random.one_in(2) { vec![Extent::Static(generator.random.between(0, 20) as u64)] } else { vec![] };
        let is_dynamic = generator.dynamic && operands.as_ref().is_some_and(|operands| operands.len() == Self::mask_operand(element));
        let keys = if is_dynamic && generator.random.one_in(2) {
            Extent::Value(generator.dynamic_index(keys)?)
        } else {
            Extent::Static(keys as u64)
        };
        Some((operands?, Self { scale: Scalar::float(F32, 0.25), keys: vec![keys], causal_from }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let of = |operand: usize| match cx.tensor(operand) {
            Ok(ty) if ty.rank() == 4 => [vec![Axis::Kept(0)], vec![Axis::Opaque; 3]].concat(),
            Ok(ty) => vec![Axis::Opaque; ty.rank()],
            Err(_) => vec![],
        };
        Axes::of((0..cx.operands.len()).map(of).collect())
    }
}
