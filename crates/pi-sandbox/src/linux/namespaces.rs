//! Runs a program in namespaces with three processes: this one outside, which has the ID and the exit status that the caller
//! sees (`relay`); the first process of the PID namespace, which sets up the mounts and outlives the program for as long as
//! its children run (`init`); and the program, in a second user namespace, where it has no rights over the mounts.

use std::process::ExitCode;

use libc::{CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER};
use pi_protocol::settings::SandboxNetwork;

use super::confine::{ConfinedCommand, HelperRequest, Purpose, SetupError, fail};
use super::init;
use super::placeholders::Placeholders;
use super::relay;
use super::system_calls::{BlockedSignals, Cloned, clone_process};

pub(super) fn run(request: &HelperRequest, program: &ConfinedCommand) -> ExitCode {
    match try_run(request, program) {
        Ok(code) => code,
        Err(error) => fail(&error).into(),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a cloned process must not return to the code of its parent"
)]
fn try_run(request: &HelperRequest, program: &ConfinedCommand) -> Result<ExitCode, SetupError> {
    let mut namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC;
    if request.policy.network == SandboxNetwork::Off {
        namespaces |= CLONE_NEWNET;
    }
    let placeholders = match request.purpose {
        Purpose::Run if request.overlays.is_empty() => Placeholders::create(&request.policy)?,
        // What is created in an overlay under a protected name is not kept.
        Purpose::Run | Purpose::Probe => Placeholders::default(),
    };
    let pipe = || std::io::pipe().map_err(SetupError::at("cannot create a pipe"));
    // To the first process: that it may start, then signals for the program. Back: the status of the program.
    let (control, control_writer) = pipe()?;
    let (status, status_writer) = pipe()?;
    let signals = BlockedSignals::new().map_err(SetupError::at("cannot receive signals"))?;
    let cloned =
        clone_process(namespaces).map_err(SetupError::at("user namespaces are not available"))?;
    match cloned {
        Cloned::Child => {
            // Held by the child, the other ends would never close.
            drop((control_writer, status));
            let code = init::run(
                request,
                program,
                placeholders,
                control,
                status_writer,
                &signals,
            );
            std::process::exit(code)
        }
        Cloned::Parent(child) => {
            drop((control, status_writer));
            super::id_maps::write(child)?;
            // The locks belong to the child, which removes them.
            placeholders.release();
            relay::run(child, status, control_writer, signals.descriptor)
        }
    }
}
