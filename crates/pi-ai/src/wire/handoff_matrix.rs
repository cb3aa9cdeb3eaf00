//! Every API's conversation, continued on every other API.

mod rules;
