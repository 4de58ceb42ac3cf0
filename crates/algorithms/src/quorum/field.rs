//! GF(q), the field with q elements, for any prime power q = p^k; what the planes are drawn over.
//!
//! An element is a polynomial over GF(p) of degree below k, and its number has the coefficients as
//! digits in base p, the lowest first. Addition goes digit by digit. For multiplication we look for
//! a rule `x^k = r` under which the powers of x run through all q-1 elements but 0: then every
//! element but 0 is a power of x and has an inverse, so the rule gives a field. Tables of powers
//! and logarithms do the rest. Such an r exists for every p and k (a primitive polynomial).

use alloc::vec;
use alloc::vec::Vec;

/// An element, 0..q; 0 and 1 are what they are called.
pub(super) type Element = usize;

/// The field with `q` elements.
pub(super) struct Field {
    q: usize,
    /// The characteristic: q is a power of it.
    p: usize,
    /// `powers[i]` = x^i, for i in 0..q-1.
    powers: Vec<Element>,
    /// The inverse table: `logs[powers[i]]` = i. The entry for 0 means nothing.
    logs: Vec<usize>,
}

impl Field {
    /// The field with `q` elements, which exists when q is a prime power.
    pub(super) fn new(q: usize) -> Option<Self> {
        let p = prime_of_power(q)?;
        let powers = (1..q).find_map(|r| powers_of_x(p, q, r))?;
        let mut logs = vec![0; q];
        for (i, &power) in powers.iter().enumerate() {
            logs[power] = i;
        }
        Some(Self { q, p, powers, logs })
    }

    pub(super) fn add(&self, a: Element, b: Element) -> Element {
        add_multiple(self.p, a, 1, b)
    }

    pub(super) fn mul(&self, a: Element, b: Element) -> Element {
        if a == 0 || b == 0 {
            return 0;
        }
        self.powers[(self.logs[a] + self.logs[b]) % (self.q - 1)]
    }
}

/// The prime that `q` is a power of, if it is one of some prime.
pub(super) fn prime_of_power(q: usize) -> Option<usize> {
    let p = (2..=q.isqrt()).find(|&divisor| q.is_multiple_of(divisor)).unwrap_or(q);
    let mut rest = q;
    while p > 1 && rest.is_multiple_of(p) {
        rest /= p;
    }
    (p > 1 && rest == 1).then_some(p)
}

/// The powers of x under the rule `x^k = r`, if they are all q-1 elements but 0.
fn powers_of_x(p: usize, q: usize, r: Element) -> Option<Vec<Element>> {
    let mut powers = vec![1];
    let mut power = 1;
    while powers.len() < q {
        // Times x is a shift by one digit, and what falls off at the top comes back as r.
        let (top, rest) = (power / (q / p), power % (q / p));
        power = add_multiple(p, rest * p, top, r);
        if power == 1 {
            break;
        }
        powers.push(power);
    }
    (powers.len() == q - 1).then_some(powers)
}

/// `a + factor * b`, digit by digit in base `p`.
fn add_multiple(p: usize, mut a: Element, factor: usize, mut b: Element) -> Element {
    let (mut sum, mut place) = (0, 1);
    while a > 0 || b > 0 {
        sum += (a % p + factor * (b % p)) % p * place;
        (a, b, place) = (a / p, b / p, place * p);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prime_powers_are_told_from_other_numbers() {
        let prime_powers: Vec<_> = (0..=32).filter(|&q| prime_of_power(q).is_some()).collect();
        let expected = [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32];
        assert_eq!(prime_powers, expected);
        assert_eq!(prime_of_power(27), Some(3));
        assert!(Field::new(6).is_none());
    }

    #[test]
    fn the_laws_of_a_field_hold() {
        for q in [2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 32] {
            let field = Field::new(q).unwrap();
            for a in 0..q {
                assert_eq!((field.add(a, 0), field.mul(a, 1)), (a, a));
                assert!((0..q).any(|b| field.add(a, b) == 0));
                assert!(a == 0 || (1..q).any(|b| field.mul(a, b) == 1));
                for (b, c) in (0..q).flat_map(|b| (0..q).map(move |c| (b, c))) {
                    let left = field.mul(a, field.add(b, c));
                    assert_eq!(left, field.add(field.mul(a, b), field.mul(a, c)));
                    let left = field.mul(a, field.mul(b, c));
                    assert_eq!(left, field.mul(field.mul(a, b), c));
                }
            }
        }
    }
}
