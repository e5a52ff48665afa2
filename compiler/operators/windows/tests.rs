//! Known windows against a count one by one; run-time ones against known ones.

use super::{Padding, Windows};
use crate::ir::{ElementType, Extent, Interval, Module, TensorType, Type, WindowGeometry};
use crate::operators::{Error, Graph};

fn windows(size: u64, stride: i64, dilation: i64, padding: Padding) -> Windows {
    Windows { size: vec![size], strides: vec![stride], dilation: vec![dilation], padding }
}

fn paddings() -> [Padding; 5] {
    let symmetric = |partial| Padding::Symmetric { elements: vec![1], partial };
    [Padding::Same, Padding::Valid, symmetric(false), symmetric(true), Padding::Sides { before: vec![1], after: vec![2] }]
}

/// Windows that the geometry gives an extent.
fn count(geometry: &WindowGeometry, extent: i64, reach: i64) -> i64 {
    (extent + geometry.padding_low[0] + geometry.padding_high[0] - reach) / geometry.strides[0] + 1
}

#[test]
fn known_windows_are_counted_as_their_definitions_say() {
    for (size, stride, dilation) in [(3, 1, 1), (3, 2, 1), (2, 3, 1), (3, 2, 2), (4, 3, 1)] {
        let reach = (size as i64 - 1) * dilation + 1;
        for extent in reach..12 {
            for padding in paddings() {
                let geometry = windows(size, stride, dilation, padding.clone()).known_geometry(&[extent as u64]).unwrap();
                let expected = match padding {
                    Padding::Same => (extent + stride - 1) / stride,
                    Padding::Valid => (0..).take_while(|w| w * stride + reach <= extent).count() as i64,
                    Padding::Symmetric { partial: false, .. } => (0..).take_while(|w| w * stride + reach <= extent + 2).count() as i64,
                    Padding::Sides { .. } => (0..).take_while(|w| w * stride + reach <= extent + 3).count() as i64,
                    // One more where it does not fit the padded image, but begins in the image or before it.
                    Padding::Symmetric { partial: true, .. } => {
                        let fit = (0..).take_while(|w| w * stride + reach <= extent + 2).count() as i64;
                        let all = if (fit - 1) * stride + reach < extent + 2 { fit + 1 } else { fit };
                        if (all - 1) * stride > extent { all - 1 } else { all }
                    }
                };
                assert_eq!(count(&geometry, extent, reach), expected, "{size} {stride} {dilation} {extent} {padding:?}");
            }
        }
    }
}

#[test]
fn a_window_that_may_reach_beyond_the_padding_may_be_larger_than_all_there_is() {
    let geometry = |stride, partial| windows(9, stride, 1, Padding::Symmetric { elements: vec![1], partial }).known_geometry(&[3]);
    let borders = |geometry: WindowGeometry| [geometry.padding_low[0], geometry.padding_high[0]];
    assert_eq!(geometry(5, true).map(borders), Ok([1, 5]));
    assert_eq!(geometry(4, true), Err(Error::WindowMisfit { extent: 3, size: 9 }), "a step of four does not reach so far");
    assert_eq!(geometry(5, false), Err(Error::WindowMisfit { extent: 3, size: 9 }));
}

#[test]
fn run_time_windows_are_bounded_by_known_ones() {
    for padding in paddings() {
        for (size, stride, dilation) in [(3, 2, 1), (2, 1, 1), (2, 2, 2)] {
            let mut module = Module::default();
            let mut g = Graph::new(&mut module, "f");
            let x = g.builder.param(Type::Tensor(TensorType::of(ElementType::F32, &[9])), None);
            g.measure(x, 0, Interval { low: 1, high: 9 });
            let extent = g.extents(x);
            let windows = windows(size, stride, dilation, padding.clone());
            let geometry = windows.geometry(&mut g, &extent).unwrap();
            let known = windows.known_geometry(&[9]).unwrap();
            let reach = (size as i64 - 1) * dilation + 1;
            assert_eq!(g.bound(geometry.positions[0]), count(&known, 9, reach) as u64, "{padding:?} {size} {stride} {dilation}");
        }
    }
}

#[test]
fn what_is_out_of_range_is_refused() {
    let geometry = |size, stride, dilation, extent| windows(size, stride, dilation, Padding::Valid).known_geometry(&[extent]);
    assert_eq!(geometry(3, 0, 1, 8), Err(Error::WindowStep { step: 0 }));
    assert_eq!(geometry(3, 1, -1, 8), Err(Error::WindowStep { step: -1 }));
    assert_eq!(geometry(3, 1, 1, 2), Err(Error::WindowMisfit { extent: 2, size: 3 }));
    assert_eq!(geometry(0, 1, 1, 2), Err(Error::WindowMisfit { extent: 2, size: 0 }));
    assert_eq!(geometry(1 << 30, 1, i64::MAX, 2), Err(Error::WindowTooLarge));
}

#[test]
fn padding_before_follows_from_the_extent() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    for extent in 3..12 {
        let windows = windows(3, 2, 1, Padding::Same);
        let known = windows.known_geometry(&[extent]).unwrap().padding_low[0] as u64;
        assert_eq!(windows.padding_before(&mut g, 0, Extent::Static(extent)), Ok(Extent::Static(known)));
    }
}
