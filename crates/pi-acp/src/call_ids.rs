//! IDs of tool calls that are unique in a session. Some model servers number the calls of each response from the start.

use std::collections::HashMap;

#[derive(Debug, Default)]
pub(crate) struct CallIds {
    /// How often an ID was used.
    uses: HashMap<String, u32>,
}

impl CallIds {
    /// Returns the ID for a new call.
    pub(crate) fn begin(&mut self, id: &str) -> String {
        *self.uses.entry(id.to_owned()).or_default() += 1;
        self.current(id)
    }

    /// Returns the ID for the latest call with this ID.
    pub(crate) fn current(&self, id: &str) -> String {
        match self.uses.get(id) {
            None | Some(0 | 1) => id.to_owned(),
            Some(uses) => format!("{id}#{uses}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_repeated_id_gets_a_number() {
        let mut ids = CallIds::default();
        assert_eq!(ids.current("a"), "a");
        assert_eq!(ids.begin("a"), "a");
        assert_eq!(ids.current("a"), "a");
        assert_eq!(ids.begin("a"), "a#2");
        assert_eq!(ids.current("a"), "a#2");
        assert_eq!(ids.begin("b"), "b");
    }
}
