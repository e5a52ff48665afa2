//! Damage to FlatBuffers by their schema: most results still pass the reader's structural check and have another meaning.

use modelc_schema::{Error, Schema, Site, SiteKind};
use std::path::Path;

/// Limit of the values changed in one file, and of the values inspected.
const MOST_CHANGES: usize = 4;
const MOST_SITES: usize = 20_000;

/// Damage to files of one schema.
pub struct FlatBuffer {
    schema: Schema,
}

impl FlatBuffer {
    /// Reads the schema at `path`.
    ///
    /// # Errors
    /// An error if there is no such schema, or if it is invalid.
    pub fn new(path: &Path) -> Result<Self, Error> {
        Ok(Self { schema: Schema::read(path)? })
    }

    /// Changes one to four values of a file in place.
    pub fn damage(&self, file: &mut [u8], random: &mut dyn FnMut(usize) -> usize) {
        let sites = self.schema.sites(file, MOST_SITES);
        if sites.is_empty() {
            return;
        }
        for _ in 0..1 + random(MOST_CHANGES) {
            let site = sites[random(sites.len())];
            let value = match site.kind {
                SiteKind::Integer => integer(file, site, &sites, random),
                SiteKind::Float => float(file, site, random),
                SiteKind::Tag => random(140) as u64,
                SiteKind::Offset => offset(file, site, &sites, random),
                SiteKind::Length => length(read(file, site), random),
                // Usually absent, so that the field has its default.
                SiteKind::Slot => pick(&[0, 0, 0, 4, read(file, site).wrapping_add(4)], random),
            };
            write(file, site, value);
        }
    }
}

fn read(file: &[u8], site: Site) -> u64 {
    let mut bytes = [0; 8];
    bytes[..site.width].copy_from_slice(&file[site.at..site.at + site.width]);
    u64::from_le_bytes(bytes)
}

fn write(file: &mut [u8], site: Site, value: u64) {
    file[site.at..site.at + site.width].copy_from_slice(&value.to_le_bytes()[..site.width]);
}

fn pick(values: &[u64], random: &mut dyn FnMut(usize) -> usize) -> u64 {
    values[random(values.len())]
}

/// Returns the value of a similar site.
fn another(file: &[u8], site: Site, sites: &[Site], random: &mut dyn FnMut(usize) -> usize) -> u64 {
    // A few tries instead of a list, because most kinds have many sites.
    let candidates = (0..24).map(|_| sites[random(sites.len())]);
    let like = |other: &Site| other.kind == site.kind && other.width == site.width && other.at != site.at;
    let found: Vec<Site> = candidates.filter(like).collect();
    let same_field = found.iter().find(|other| other.field == site.field);
    same_field.or(found.first()).map_or(0, |other| read(file, *other))
}

fn integer(file: &[u8], site: Site, sites: &[Site], random: &mut dyn FnMut(usize) -> usize) -> u64 {
    let old = read(file, site);
    let highest = 1u64 << (8 * site.width - 1);
    match random(8) {
        0 | 1 => old.wrapping_add(1),
        2 => old.wrapping_sub(1),
        3 => random(10) as u64,
        4 => pick(&[u64::MAX, u64::MAX - 1, highest, highest - 1, highest / 2, 1 << 16, 1 << 31, 127, 128, 255], random),
        5 => old.wrapping_neg(),
        6 => pick(&[old << 1, old >> 1, old.wrapping_mul(100), 1 << random(64)], random),
        _ => another(file, site, sites, random),
    }
}

fn float(file: &[u8], site: Site, random: &mut dyn FnMut(usize) -> usize) -> u64 {
    let old = read(file, site);
    const VALUES: [f64; 10] = [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-45, 3e38, 65536.0];
    let bits = |value: f64| if site.width == 4 { u64::from((value as f32).to_bits()) } else { value.to_bits() };
    match random(3) {
        0 => old ^ 1 << random(8 * site.width),
        _ => bits(VALUES[random(VALUES.len())]),
    }
}

/// Returns the distance to the target of another field of the same kind. Distances are unsigned, so the target must be after the site.
fn offset(file: &[u8], site: Site, sites: &[Site], random: &mut dyn FnMut(usize) -> usize) -> u64 {
    let target = |other: Site| other.at as u64 + read(file, other);
    let candidates = (0..64).map(|_| sites[random(sites.len())]);
    let fits = |other: &Site| other.kind == SiteKind::Offset && other.field == site.field && target(*other) > site.at as u64;
    let found = candidates.filter(fits).find(|other| target(*other) != target(site));
    found.map_or(read(file, site), |other| target(other) - site.at as u64)
}

fn length(old: u64, random: &mut dyn FnMut(usize) -> usize) -> u64 {
    match random(4) {
        0 => old.saturating_sub(1),
        1 => 0,
        2 => random(old.clamp(1, 1 << 20) as usize) as u64,
        _ => pick(&[old + 1, 1, old / 2, u64::from(u32::MAX)], random),
    }
}
