# markers: defined_model trained_model
class Model:
    def fit(self, x, y): return self
model = Model()
if True:
  if True:
    if True:
      if True:
        if True:
          if True:
            if True:
              if True:
                if True:
                  if True:
                    if True:
                      if True:
                        if True:
                          if True:
                            if True:
                              if True:
                                if True:
                                  if True:
                                    if True:
                                      if True:
                                        if True:
                                          if True:
                                            if True:
                                              if True:
                                                if True:
                                                  if True:
                                                    if True:
                                                      if True:
                                                        if True:
                                                          if True:
                                                            model.fit([1], [2])
print("deep")
