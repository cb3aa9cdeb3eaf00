//! What stands at the top: the program's own header, or what an extension shows in its place.

use std::any::Any;

use pi_runtime::ComponentId;
use pi_tui::{BlockId, Liveness};

use super::App;
use crate::block::BlockView;
use crate::foreign_view::ForeignView;
use crate::header::Header;

/// Where the header is in the transcript.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeaderPlace {
    own: Option<BlockId>,
    foreign: Option<BlockId>,
}

impl App {
    /// Takes note of a new header; an extension that has a say in it goes on having it.
    pub(crate) fn show_header(&mut self, own: BlockId) {
        self.header = HeaderPlace {
            own: Some(own),
            foreign: None,
        };
        if let Some((id, key_release)) = self.extensions.header {
            self.show_foreign_header(id, key_release);
        }
    }

    /// Shows what an extension has in the place of the name and the keys.
    pub(super) fn show_foreign_header(&mut self, id: ComponentId, key_release: bool) {
        self.extensions.header = Some((id, key_release));
        let Some(own) = self.header.own else {
            return;
        };
        self.remove_foreign_header();
        let view = ForeignView::new(id, self.desk.clone(), key_release).after_blank();
        let document = self.screen.document();
        let block = document.insert_before(own, Box::new(view), Liveness::Settled);
        self.header.foreign = Some(block);
        self.with_own_header(|header| header.set_nameless(true));
    }

    /// Shows the program's own header again.
    pub(super) fn show_own_header(&mut self) {
        self.extensions.header = None;
        self.remove_foreign_header();
        self.with_own_header(|header| header.set_nameless(false));
    }

    /// Changes what an extension shows at the top.
    pub(super) fn with_foreign_header<R>(
        &mut self,
        change: impl FnOnce(&mut ForeignView) -> R,
    ) -> Option<R> {
        let block = self.header.foreign?;
        let component = self.screen.document().get_mut(block)?;
        let view = (component as &mut dyn Any).downcast_mut::<ForeignView>()?;
        Some(change(view))
    }

    fn remove_foreign_header(&mut self) {
        if let Some(block) = self.header.foreign.take() {
            self.screen.document().remove(block);
        }
    }

    fn with_own_header(&mut self, change: impl FnOnce(&mut Header)) {
        let Some(own) = self.header.own else {
            return;
        };
        let component = self.screen.document().get_mut(own);
        let view = component
            .and_then(|component| (component as &mut dyn Any).downcast_mut::<BlockView<Header>>());
        if let Some(view) = view {
            change(view.block_mut());
        }
    }
}
