//! The header: the built-in one, or the component an extension shows instead.

use std::any::Any;

use pi_host::ComponentId;
use pi_tui::{BlockId, Liveness};

use super::Display;
use crate::blocks::block::BlockView;
use crate::extensions::view::ExtensionView;
use crate::screen::header::{HeaderBlock, HeaderData};

/// Document blocks of the header.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeaderBlocks {
    builtin: Option<BlockId>,
    extension: Option<BlockId>,
}

impl Display {
    /// Shows a new built-in header; an extension's header keeps replacing it.
    pub(crate) fn show_header(&mut self, data: HeaderData) {
        let header = BlockView::new(HeaderBlock::new(data), self.ui.clone());
        self.header = HeaderBlocks {
            builtin: Some(self.screen.document().push(header)),
            extension: None,
        };
        if let Some((id, key_release)) = self.extension_header {
            self.show_extension_header(id, key_release);
        }
    }

    /// Shows an extension component instead of the built-in name and key hints.
    pub(super) fn show_extension_header(&mut self, id: ComponentId, key_release: bool) {
        self.extension_header = Some((id, key_release));
        let Some(builtin) = self.header.builtin else {
            return;
        };
        self.remove_extension_header();
        let view = ExtensionView::new(id, self.bridge.clone(), key_release).with_blank_before();
        let document = self.screen.document();
        let block = document.insert_before(builtin, Box::new(view), Liveness::Settled);
        self.header.extension = Some(block);
        self.with_builtin_header(|header| header.set_title_hidden(true));
    }

    pub(super) fn show_builtin_header(&mut self) {
        self.extension_header = None;
        self.remove_extension_header();
        self.with_builtin_header(|header| header.set_title_hidden(false));
    }

    /// Runs a closure on the extension's header view.
    pub(super) fn with_extension_header<R>(
        &mut self,
        change: impl FnOnce(&mut ExtensionView) -> R,
    ) -> Option<R> {
        let block = self.header.extension?;
        let component = self.screen.document().get_mut(block)?;
        let view = (component as &mut dyn Any).downcast_mut::<ExtensionView>()?;
        Some(change(view))
    }

    fn remove_extension_header(&mut self) {
        if let Some(block) = self.header.extension.take() {
            self.screen.document().remove(block);
        }
    }

    fn with_builtin_header(&mut self, change: impl FnOnce(&mut HeaderBlock)) {
        let Some(builtin) = self.header.builtin else {
            return;
        };
        let component = self.screen.document().get_mut(builtin);
        let view = component.and_then(|component| {
            (component as &mut dyn Any).downcast_mut::<BlockView<HeaderBlock>>()
        });
        if let Some(view) = view {
            change(view.block_mut());
        }
    }
}
