//! The embedded model catalogue, parsed for one provider at a time.
