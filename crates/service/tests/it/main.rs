//! Services against a real nats-server and a real redis-server: in this process, and as processes of their own.

mod desk;
mod ends;
mod in_process;
mod process;
