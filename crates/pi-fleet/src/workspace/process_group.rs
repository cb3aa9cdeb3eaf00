//! Commands in separate process groups: Ctrl-C in the terminal stops the fleet, which then stops its commands.

use std::io;

use tokio::process::{Child, Command};

/// The processes of a command. Dropping it kills them.
pub(super) struct ProcessGroup {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl ProcessGroup {
    /// Starts a command as the leader of a new group.
    #[cfg(unix)]
    pub(super) fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        let child = command.process_group(0).spawn()?;
        let leader = child.id().map(u32::cast_signed);
        let leader = leader.and_then(rustix::process::Pid::from_raw);
        Ok((child, Self { leader }))
    }

    #[cfg(not(unix))]
    pub(super) fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        Ok((command.spawn()?, Self {}))
    }

    /// Leaves the processes that the command has started.
    #[cfg(unix)]
    pub(super) fn keep(mut self) {
        self.leader = None;
    }

    #[cfg(not(unix))]
    pub(super) fn keep(self) {}
}

#[cfg(unix)]
impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            let killed = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
            // The group may have ended.
            killed.ok();
        }
    }
}
