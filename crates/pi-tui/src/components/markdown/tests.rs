//! Tests of the Markdown component.
