//! Work on two threads. Results do not depend on the distribution of the work, nor on its order.

use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{Builder, ScopedJoinHandle};

/// Returns the result of `work` for each item, in the items' order. It uses two threads if there are at least two items and the system has
/// another thread. A panic of `work` continues in the caller.
pub fn map<T: Sync, R: Send + Sync>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let results: Vec<OnceLock<R>> = items.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        while let Some((item, result)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).zip(results.get(index))
        } {
            result.get_or_init(|| work(item));
        }
    };
    std::thread::scope(|scope| {
        let second = if items.len() > 1 { Builder::new().spawn_scoped(scope, worker).ok() } else { None };
        worker();
        if let Some(Err(panic)) = second.map(ScopedJoinHandle::join) {
            resume_unwind(panic);
        }
    });
    results.into_iter().map(|result| result.into_inner().expect("every item was taken once")).collect()
}

/// Returns the results of two pieces of work. The second runs on another thread, if the system has one. A panic of either continues in the
/// caller.
pub fn both<A, B: Send>(first: impl FnOnce() -> A, second: impl Fn() -> B + Sync) -> (A, B) {
    std::thread::scope(|scope| {
        let other = Builder::new().spawn_scoped(scope, &second).ok();
        let first = first();
        let second = match other.map(ScopedJoinHandle::join) {
            Some(Ok(second)) => second,
            Some(Err(panic)) => resume_unwind(panic),
            None => second(),
        };
        (first, second)
    })
}

/// Cache of results by key. Each is computed once, by the first thread that asks; other threads wait for it.
#[derive(Debug)]
pub struct Memo<K, V> {
    known: Mutex<FxHashMap<K, Arc<OnceLock<V>>>>,
}

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self { known: Mutex::default() }
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Memo<K, V> {
    /// Returns the result for a key, from the cache or from `compute`, which must depend only on the key.
    pub fn get(&self, key: &K, compute: impl FnOnce() -> V) -> V {
        let place = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            match known.get(key) {
                Some(place) => place.clone(),
                None => known.entry(key.clone()).or_default().clone(),
            }
        };
        // The lock is not held here: `compute` and other threads may ask for other keys.
        place.get_or_init(compute).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..1000).collect();
        assert_eq!(map(&items, |n| n * n), items.iter().map(|n| n * n).collect::<Vec<_>>());
        assert!(map(&[], |n: &u64| *n).is_empty());
    }

    #[test]
    fn a_panic_on_either_thread_reaches_the_caller() {
        for wrong in 0..4 {
            let work = || map(&[0, 1, 2, 3], |&n| if n == wrong { std::panic::panic_any(n) } else { n });
            let panic = std::panic::catch_unwind(work).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&wrong));
        }
    }

    #[test]
    fn two_pieces_of_work_give_both_results_or_the_panic_of_one() {
        assert_eq!(both(|| 1, || "two"), (1, "two"));
        let panic = std::panic::catch_unwind(|| both(|| 1, || std::panic::panic_any(2))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&2));
    }

    #[test]
    fn a_result_is_computed_once() {
        let (memo, count) = (Memo::default(), AtomicUsize::new(0));
        let keys: Vec<u64> = (0..100).map(|n| n % 10).collect();
        let found = map(&keys, |key| {
            memo.get(key, || {
                count.fetch_add(1, Ordering::Relaxed);
                key + 1
            })
        });
        assert_eq!(found, keys.iter().map(|key| key + 1).collect::<Vec<_>>());
        assert_eq!(count.into_inner(), 10);
    }
}
