//! modelc
