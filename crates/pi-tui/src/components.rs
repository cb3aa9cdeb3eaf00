//! The components that can be shown on the screen.
//!
//! Each renders lines for a width and, where applicable, turns keys into events for its owner. The
//! renderer composes them into frames; the keybindings define the meaning of keys.

mod background;
mod container;
mod editor;
mod handler;
mod image;
mod input;
mod padded_box;
mod scroll_view;
mod select_list;
mod settings_list;
mod spacer;
mod stack;
#[cfg(test)]
mod tests;
mod text;
mod truncated_text;
mod word;

pub use background::BackgroundFill;
pub use container::Container;
pub use editor::{Editor, EditorEvent, EditorOptions, EditorTheme};
pub use image::{EncodedImage, Image, ImageCellLimits, ImagePainter, PaintedImage};
pub use input::{Input, InputFieldEvent, InputOptions};
pub use padded_box::PaddedBox;
pub use scroll_view::{FollowMode, ScrollView, ScrollViewOptions, ScrollbarVisibility};
pub use select_list::{SelectEvent, SelectItem, SelectLayout, SelectList, SelectTheme};
pub use settings_list::{
    SettingControl, SettingItem, SettingsEvent, SettingsList, SettingsSearch, SettingsTheme,
    SubmenuHandle, SubmenuOutcome,
};
pub use spacer::Spacer;
pub use stack::{Basis, HStack, StackItem, VStack};
pub use text::{Text, horizontal_padding};
pub use truncated_text::TruncatedText;
