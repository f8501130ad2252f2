//! The store against a real redis-server.
