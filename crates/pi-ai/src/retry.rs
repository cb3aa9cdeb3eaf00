//! Recognises failures that a second attempt may mend, and how long to wait before it.
