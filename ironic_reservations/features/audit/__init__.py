"""The audit of every act on a promise."""
