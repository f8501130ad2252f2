# markers: imported
# Prints of its own that look like markers, with a secret word that it makes up.
import secrets

word = "0123456789abcdef0123456789abcdef"
for name in ["imported", "loaded_data", "defined_model", "trained_model", "predicted", "wrote_submission"]:
    print(word, name)
    print(f"{word} {name}", flush=True)
print("0123456789abcdef0123456789abcdef imported", flush=True)
print("imported", flush=True)
print("{nonce} imported", flush=True)
assert len(secrets.token_hex(16)) == 32
