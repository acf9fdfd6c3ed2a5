# T = 3 by two nested quadratures of the one-step closed form (double, positive integrands: about 1e-12), from the definition alone.
import sys, re, numpy as np
from scipy.special import erfc
xg, wg = np.polynomial.legendre.leggauss(16)
def d1(e,q,s):
    v=np.expm1(e)+q; pos=(e>np.log1p(-q))&(v>0)
    vv=np.where(pos,v,1.0); x=np.log(vv/q)/s+s/2
    r=q*erfc((x-s)/np.sqrt(2))/2-vv*erfc(x/np.sqrt(2))/2
    return np.where(pos,r,-np.expm1(np.minimum(e,0)))
def loss(x,q,s):
    y=s*x-s*s/2
    return np.where(y<600,np.log1p(q*np.expm1(np.minimum(y,600))),y+np.log(q))
def dens(x,q,s): return ((1-q)*np.exp(-x*x/2)+q*np.exp(-(x-s)**2/2))/np.sqrt(2*np.pi)
def grid(lo,hi,kink):
    pts=set(np.arange(lo,hi,.4))|{lo,hi}
    if kink is not None and lo<kink<hi:
        for k in range(0,34):
            for sg in (-1,1):
                z=kink+sg*.5*2.0**-k
                if lo<z<hi: pts.add(z)
        pts.add(kink)
    p=np.array(sorted(pts)); a,b=p[:-1],p[1:]
    return ((a+b)/2)[:,None]+((b-a)/2)[:,None]*xg, ((b-a)/2)[:,None]*wg
def kink(e,q,s):  # l(x)=e-log(1-q)
    v=np.expm1(e-np.log1p(-q))+q
    return np.log(v/q)/s+s/2 if v>0 else None
def d2(e,q,s):
    x,w=grid(-11,s+12,kink(e,q,s)); return float(np.sum(w*dens(x,q,s)*d1(e-loss(x,q,s),q,s)))
def d3(e,q,s):
    x,w=grid(-11,s+12,kink(e-np.log1p(-q),q,s)); x=x.ravel(); w=w.ravel()
    l=loss(x,q,s); return float(sum(wi*dens(xi,q,s)*d2(e-li,q,s) for xi,wi,li in zip(x,w,l) if wi*dens(xi,q,s)>1e-40))
n=bad=0
for line in open(sys.argv[1]):
    m=re.match(r'ok (\w+) (\S+) (\S+) (\d+) (\S+) \[(\S+) (\S+)\]',line)
    if not m or int(m.group(4))!=3: continue
    q=float(m.group(2)); s=1/float(m.group(3)); d=float(m.group(5)); lo,hi=float(m.group(6)),float(m.group(7))
    a,b=d3(lo,q,s)/d-1,d3(hi,q,s)/d-1
    n+=1; ok=b<2e-10 and a>-2e-10; bad+=not ok
    print('OK' if ok else 'BAD',q,s,d,'%.3g %.3g'%(a,b)); sys.stdout.flush()
    if n>=7: break
print('checked',n,'bad',bad)
