//! Makes child processes of extensions end with this process if it is killed, like commands.

use pi_ext::{ChildGuard, ChildSupervisor, ChildUse};
use pi_tools::{ChildPurpose, SupervisedChild};

pub(crate) struct CommandSupervisor;

impl ChildSupervisor for CommandSupervisor {
    fn prepare(&self) {
        SupervisedChild::prepare();
    }

    fn supervise(&self, process: u32, purpose: ChildUse) -> ChildGuard {
        let purpose = match purpose {
            ChildUse::Awaited => ChildPurpose::Awaited,
            ChildUse::Background => ChildPurpose::Background,
        };
        let child = SupervisedChild::start(process, purpose)?;
        Some(Box::new(child))
    }
}
