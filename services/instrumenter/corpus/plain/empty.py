# markers:
