//! Finds models from what people type: `provider/id:thinking`, parts of names, globs.
