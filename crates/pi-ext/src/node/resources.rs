//! Open resources of a realm: tasks, files, child processes, response bodies, sockets.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use tokio::task::{AbortHandle, JoinSet};

use super::files::OpenFiles;

/// Open resources of a realm, closed together with it.
#[derive(Default)]
pub(crate) struct RealmResources {
    tasks: RefCell<JoinSet<()>>,
    operations: RefCell<HashMap<u64, AbortHandle>>,
    entries: RefCell<HashMap<u32, Rc<dyn Any>>>,
    last_id: Cell<u32>,
    pub(crate) files: Arc<OpenFiles>,
}

impl RealmResources {
    /// Spawns a future on the realm's thread.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + 'static) -> AbortHandle {
        let mut tasks = self.tasks.borrow_mut();
        // Remove finished tasks, which otherwise stay in the set.
        while tasks.try_join_next().is_some() {}
        tasks.spawn_local(future)
    }

    pub(crate) fn track_operation(&self, id: u64, task: AbortHandle) {
        self.operations.borrow_mut().insert(id, task);
    }

    pub(crate) fn untrack_operation(&self, id: u64) {
        self.operations.borrow_mut().remove(&id);
    }

    pub(crate) fn abort_operation(&self, id: u64) {
        if let Some(task) = self.operations.borrow_mut().remove(&id) {
            task.abort();
        }
    }

    /// Stores a value that JavaScript refers to by ID.
    pub(crate) fn insert<T: 'static>(&self, value: T) -> u32 {
        let id = self.last_id.get() + 1;
        self.last_id.set(id);
        self.entries.borrow_mut().insert(id, Rc::new(value));
        id
    }

    /// Returns the value with this ID, if it has type `T`.
    pub(crate) fn get<T: 'static>(&self, id: u32) -> Option<Rc<T>> {
        let value = self.entries.borrow().get(&id).cloned()?;
        value.downcast().ok()
    }

    pub(crate) fn release(&self, id: u32) {
        drop(self.entries.borrow_mut().remove(&id));
    }

    /// Aborts all tasks and drops all values.
    pub(crate) fn close(&self) {
        self.tasks.borrow_mut().abort_all();
        self.operations.borrow_mut().clear();
        self.entries.borrow_mut().clear();
    }
}
