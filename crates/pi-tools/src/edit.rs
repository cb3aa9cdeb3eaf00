//! Changes parts of a file.
