//! Capabilities of a confined program: none, or for root those that change owners and modes of files.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets};

/// What package managers, `tar` and tests need when root runs them. None of them affects mounts, devices or the kernel.
const OF_ROOT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// Limits the capabilities of this process and of what it executes.
pub(super) fn drop() -> io::Result<()> {
    let allowed = if rustix::process::geteuid().is_root() {
        OF_ROOT
    } else {
        CapabilitySet::empty()
    };
    let sets = rustix::thread::capabilities(None)?;
    if sets.effective.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all().difference(allowed).iter() {
            match rustix::thread::remove_capability_from_bounding_set(capability) {
                // The kernel does not know it.
                Ok(()) | Err(rustix::io::Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    rustix::thread::clear_ambient_capability_set()?;
    let kept = sets.permitted.intersection(allowed);
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}
