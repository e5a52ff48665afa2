//! The core ABI of compiled models.
#![no_std]
