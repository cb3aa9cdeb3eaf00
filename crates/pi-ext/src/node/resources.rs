//! What a realm has open: tasks, files, children, bodies, sockets.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use tokio::task::{AbortHandle, JoinSet};

use super::files::OpenFiles;

/// What a realm has open; closed with it.
#[derive(Default)]
pub(crate) struct Resources {
    tasks: RefCell<JoinSet<()>>,
    operations: RefCell<HashMap<u64, AbortHandle>>,
    things: RefCell<HashMap<u32, Rc<dyn Any>>>,
    next: Cell<u32>,
    pub(crate) files: Arc<OpenFiles>,
}

impl Resources {
    /// Runs a future on the thread of the realm.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + 'static) -> AbortHandle {
        let mut tasks = self.tasks.borrow_mut();
        // Ended tasks would stay in the set otherwise.
        while tasks.try_join_next().is_some() {}
        tasks.spawn_local(future)
    }

    pub(crate) fn remember_operation(&self, id: u64, task: AbortHandle) {
        self.operations.borrow_mut().insert(id, task);
    }

    pub(crate) fn forget_operation(&self, id: u64) {
        self.operations.borrow_mut().remove(&id);
    }

    pub(crate) fn abort_operation(&self, id: u64) {
        if let Some(task) = self.operations.borrow_mut().remove(&id) {
            task.abort();
        }
    }

    /// Keeps something JavaScript refers to by number.
    pub(crate) fn keep<T: 'static>(&self, thing: T) -> u32 {
        let id = self.next.get() + 1;
        self.next.set(id);
        self.things.borrow_mut().insert(id, Rc::new(thing));
        id
    }

    /// Returns what a number stands for.
    pub(crate) fn get<T: 'static>(&self, id: u32) -> Option<Rc<T>> {
        let thing = self.things.borrow().get(&id).cloned()?;
        thing.downcast().ok()
    }

    /// Forgets what a number stands for.
    pub(crate) fn release(&self, id: u32) {
        drop(self.things.borrow_mut().remove(&id));
    }

    /// Ends everything.
    pub(crate) fn close(&self) {
        self.tasks.borrow_mut().abort_all();
        self.operations.borrow_mut().clear();
        self.things.borrow_mut().clear();
    }
}
